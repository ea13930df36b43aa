"""What a streaming speech recogniser reports while a question is being spoken."""
from __future__ import annotations

import itertools
import re

CHARACTERS_PER_S = 4.0
"""Speaking rate in Chinese."""
WORDS_PER_S = 2.7
"""Speaking rate in English; also of Latin words and numbers in a Chinese sentence."""
ENDPOINT = 0.6
"""Silence (s) after which a recogniser takes an utterance for finished."""

_UNIT = re.compile(r"(?P<word>[^\W\u3400-\u9fff]+(?:['’.\-][^\W\u3400-\u9fff]+)*)|[\u3400-\u9fff]")


def spoken(text: str, *, endpoint: float = ENDPOINT) -> tuple[tuple[float, str], ...]:
    """Hypotheses as (s before the final transcript, words so far), in order; the last one has all the words.

    They grow by a word, in Chinese by a character, at the speaking rate. The last comes when the speaker falls silent,
    ``endpoint`` s before the final transcript.
    """
    units = list(_UNIT.finditer(text))
    if not units:
        return ((endpoint, text),)
    seconds = [1 / WORDS_PER_S if each['word'] else 1 / CHARACTERS_PER_S for each in units]
    spoken_at = list(itertools.accumulate(seconds))
    return (*(
        (endpoint + spoken_at[-1] - at, text[: unit.end()])
        for unit, at in zip(units[:-1], spoken_at[:-1], strict=True)
    ), (endpoint, text))
