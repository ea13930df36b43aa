"""Which question is asked when: the stream of requests that every arm of a run gets alike."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from pace_ros.language import normal_form
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.workload.arrivals import Arrival
from pace_ros.study.workload.hypotheses import spoken
from pace_ros.study.workload.request import Request

_T = TypeVar('_T')
Key = tuple[str, str]
"""A meaning in a locale: what a stream asks anew or again."""
_CHOICES, _ORDER, _SPEECH = 2, 3, 4
"""Keep the draws for different ends apart, so that one does not shift another."""


def stream(
    data: DataSet,
    schedule: Sequence[Arrival],
    *,
    seed: int,
    repeats: float = 0.30,
) -> tuple[Request, ...]:
    """A question for every arrival; the same ones for the same seed, whatever the times.

    With probability ``repeats`` a meaning is asked again that was asked before in this stream in the same locale,
    one half in words used before, one half in another wording; else a new one, in random order, from the first again
    when all were asked. Wordings that the knowledge has verbatim are avoided where there are others. Raises
    ValueError for a data set without questions.
    """
    asking = _Asking(data, seed, repeats)
    choices = np.random.default_rng([seed, _CHOICES]).random((len(schedule), 3)).tolist()
    requests = []
    for index, (arrival, draws) in enumerate(zip(schedule, choices, strict=True)):
        question, seen = asking.next(draws)
        hypotheses = spoken(question.text, np.random.default_rng([seed, _SPEECH, index]))
        requests.append(Request(index, arrival.at, question, arrival.concurrency, arrival.phase, seen, hypotheses))
    return tuple(requests)


class _Asking:
    """What was asked so far, and what is asked next."""

    def __init__(self, data: DataSet, seed: int, repeats: float) -> None:
        if not data.seeds:
            raise ValueError(f"data set '{data.name}' has no questions to ask.")
        self._data = data
        self._repeats = repeats
        self._new = self._anew(seed)
        self._asked: dict[Key, list[Question]] = {}
        self._order: list[Key] = []
        self._known = {
            normal_form(text) for entry in data.knowledge for texts in entry.questions.values() for text in texts
        }

    def next(self, draws: Sequence[float]) -> tuple[Question, bool]:
        """A question, and whether its meaning was asked before; draws in [0, 1): repeat, which one, which words."""
        repeat, which, words = draws[:3]
        if self._order and repeat < self._repeats:
            question = self._again(_pick(self._order, which), words)
        else:
            key = next(self._new)
            question = _pick(self._wordings(key), words)
        key = (question.meaning, question.locale)
        seen = key in self._asked
        if not seen:
            self._order.append(key)
        self._asked.setdefault(key, []).append(question)
        return question, seen

    def _again(self, key: Key, words: float) -> Question:
        """One half of ``words`` chooses among the wordings used before, the other among those not used."""
        used = self._asked[key]
        others = [each for each in self._wordings(key) if each not in used]
        if not others:  # all were used: another than the last time
            others = [each for each in self._wordings(key) if each is not used[-1]] or used
        return _pick(used, 2 * words) if words < 0.5 else _pick(others, 2 * words - 1)

    def _wordings(self, key: Key) -> Sequence[Question]:
        everything = self._data.wordings[key]
        return [each for each in everything if normal_form(each.text) not in self._known] or everything

    def _anew(self, seed: int) -> Iterator[Key]:
        rng = np.random.default_rng([seed, _ORDER])
        keys = list(self._data.wordings)
        while True:
            yield from (keys[place] for place in rng.permutation(len(keys)).tolist())


def _pick(items: Sequence[_T], share: float) -> _T:
    """The item at a share in [0, 1) of the way through."""
    return items[int(share * len(items))]
