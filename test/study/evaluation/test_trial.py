"""A run: requests are sent at their instants whatever becomes of the earlier ones, and each becomes a row."""
from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext

import pytest
from harness import FACTS

from pace_ros.cache import CacheEntry
from pace_ros.embedding import Embedder
from pace_ros.study.datasets import Change, DataSet, Question, World
from pace_ros.study.evaluation.cell import Cell
from pace_ros.study.evaluation.columns import COLUMNS, KEYS
from pace_ros.study.evaluation.trial import Overdue, Row, Trial
from pace_ros.study.judging.reference import ReferenceJudge
from pace_ros.study.virtual.loop import LoopClock, VirtualLoop, run
from pace_ros.study.workload.request import Request
from pace_ros.turn import Outcome, Path, TurnRecord, Utterance

PRICE = Question('q1', 'What does the roof box cost?', 'en-US', 'box', 'The roof box costs 300 yuan.', volatile=True)
RISE = Change(1, 'box', {'en': 'The roof box costs 350 yuan.'})


class Parrot:
    """Says the same for ever, after ``delay`` s; it remembers what it heard and when."""

    def __init__(self, loop: VirtualLoop, answer: str, delay: float = 1.0) -> None:
        self._loop = loop
        self._answer = answer
        self._delay = delay
        self.heard: list[tuple[float, str, bool]] = []

    async def ask(self, utterance: Utterance) -> TurnRecord:
        self._note(utterance)
        await asyncio.sleep(self._delay)
        return TurnRecord(
            't', utterance.conversation_id, path=Path.L0, outcome=Outcome.ANSWERED, answer=self._answer,
            ptfr=self._loop.time() - utterance.received, refused=('l0 3: names',),
        )

    def hear(self, hypothesis: Utterance) -> None:
        self._note(hypothesis)

    def remember(self, entries: Sequence[CacheEntry], embedder: Embedder) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError

    def _note(self, utterance: Utterance) -> None:
        self.heard.append((round(self._loop.time(), 6), utterance.text, utterance.partial))


def trial(loop: VirtualLoop, parrot: Parrot) -> Trial:
    world = World(DataSet('d', '1', (PRICE,), changes=(RISE,)))
    return Trial(Cell('campaign', 'd', 'a', 4.0, 1), parrot, world, ReferenceJudge(FACTS), LoopClock(loop), nullcontext)


def played(requests: list[Request], *, answer: str = 'It costs 300 yuan.', delay: float = 1.0,
           events: tuple[tuple[float, Change], ...] = ()) -> tuple[list[Row], Parrot]:
    loop = VirtualLoop(measured=False)
    parrot = Parrot(loop, answer, delay)
    return run(loop, trial(loop, parrot).run(requests, events)), parrot


def test_requests_are_sent_on_schedule_not_after_each_other() -> None:
    rows, parrot = played([Request(0, 0.5, PRICE, 4.0), Request(1, 0.75, PRICE, 4.0)], delay=10.0)
    assert [at for at, _, _ in parrot.heard] == [0.5, 0.75]
    assert [row['index'] for row in rows] == [0, 1]
    assert [row['lag'] for row in rows] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert [row['ptfr'] for row in rows] == pytest.approx([10.0, 10.0], abs=1e-6)


def test_hypotheses_come_before_their_request() -> None:
    _, parrot = played([Request(0, 2.0, PRICE, 4.0, hypotheses=((1.5, 'What does'), (0.5, PRICE.text)))])
    assert parrot.heard == [(0.5, 'What does', True), (1.5, PRICE.text, True), (2.0, PRICE.text, False)]


def test_a_row_is_judged_by_what_was_true_when_it_was_asked() -> None:
    rows, _ = played([Request(0, 1.0, PRICE, 4.0), Request(1, 9.0, PRICE, 4.0, seen=True)], events=((5.0, RISE),))
    before, after = rows
    assert list(before) == list(COLUMNS)
    assert set(KEYS) <= set(before)
    assert (before['correct'], before['stale'], before['cache_error'], before['after_change']) == (
        True, False, False, False)
    assert (after['correct'], after['stale'], after['cache_error'], after['after_change']) == (False, True, True, True)
    assert after['event_age'] == pytest.approx(4.0, abs=1e-6)
    assert (before['reference'], after['reference']) == (PRICE.answer, RISE.answers['en'])
    assert before['refused'] == 'l0 3: names'


def test_a_turn_that_never_ends_is_reported() -> None:
    with pytest.raises(Overdue, match='1 of 1 turns'):
        played([Request(0, 0.0, PRICE, 4.0)], delay=1e6)
