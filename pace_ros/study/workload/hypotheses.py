"""What a streaming speech recogniser reports while a question is being spoken."""
from __future__ import annotations

import itertools
import re

import numpy as np

CHARACTERS_PER_S = 4.0
"""Speaking rate in Chinese."""
WORDS_PER_S = 2.7
"""Speaking rate in English; also of Latin words and numbers in a Chinese sentence."""
RHYTHM = 6.0
"""Shape of the gamma distribution of the time a word takes: its standard deviation is 0.4 of its mean."""
HESITATES = 0.06
"""Share of the gaps between words in which the speaker stops to think ..."""
PAUSE = (0.3, 1.2)
"""... for so long (s)."""
ENDPOINT = (0.4, 0.9)
"""Silence (s) after which a recogniser takes an utterance for finished: it differs from one to the next."""
REVISED = 0.10
"""Share of utterances of which the last word comes with the final transcript only."""

_UNIT = re.compile(r"(?P<word>[^\W\u3400-\u9fff]+(?:['’.\-][^\W\u3400-\u9fff]+)*)|[\u3400-\u9fff]")


def spoken(text: str, rng: np.random.Generator) -> tuple[tuple[float, str], ...]:
    """Hypotheses as (s before the final transcript, words so far), in order.

    They grow by a word, in Chinese by a character, as the speaker talks, with hesitations. The last one has all the
    words, or all but the last, and comes when the speaker falls silent.
    """
    endpoint, heard = float(rng.uniform(*ENDPOINT)), rng.random()
    units = list(_UNIT.finditer(text))
    if not units:
        return ((endpoint, text),)
    means = np.array([1 / WORDS_PER_S if each['word'] else 1 / CHARACTERS_PER_S for each in units])
    seconds = means * rng.gamma(RHYTHM, 1 / RHYTHM, len(units))
    stops = rng.random(len(units)) < HESITATES
    seconds[1:] += (stops * rng.uniform(*PAUSE, len(units)))[1:]
    spoken_at = list(itertools.accumulate(seconds.tolist()))
    growing = [
        (endpoint + spoken_at[-1] - at, text[: unit.end()]) for unit, at in zip(units, spoken_at, strict=True)
    ]
    if heard < REVISED:
        return tuple(growing[:-1]) or ((endpoint, ''),)
    return (*growing[:-1], (endpoint, text))
