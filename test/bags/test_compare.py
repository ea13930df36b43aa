"""What is told of two runs."""
from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from pace_ros.bags.compare import Told, decisive, differences, told, worded


def run(**fields: Any) -> Told:
    values: dict[str, Any] = {
        'path': 'L2', 'outcome': 'ANSWERED', 'answer': 'Dust and ice.', 'frames': (('ANSWER', 'Dust and ice.'),),
        'decisions': (('filler_shown', False),), 'ptfr': 0.5, **fields}
    return Told(**values)


def test_the_same_run_twice() -> None:
    assert differences([run(), run(path='L0'), None], [run(), run(path='L0'), run()]) == []


def test_each_kind_of_difference_is_found_and_decides() -> None:
    for what, value in (('path', 'L0'), ('outcome', 'PREEMPTED'), ('answer', 'Ice.'), ('frames', ()),
                        ('decisions', (('filler_shown', True),))):
        [found] = differences([run()], [run(**{what: value})])
        assert found.what == ('filler_shown' if what == 'decisions' else what)
        assert decisive([found], durations=False)
        assert worded(found).startswith('turn 1: ')


def test_a_turn_without_an_end_decides() -> None:
    [found] = differences([run(), run()], [run(), None])
    assert (found.turn, found.what, found.recorded) == (2, 'turn', 'ANSWERED')
    assert decisive([found], durations=False)


def test_ptfr_counts_only_beyond_the_tolerance_and_where_asked() -> None:
    assert differences([run(ptfr=0.5)], [run(ptfr=0.59)], tolerance=0.1) == []
    [found] = differences([run(ptfr=0.5)], [run(ptfr=0.75)], tolerance=0.1)
    assert worded(found) == 'turn 1: PTFR 500 ms -> 750 ms (+250 ms)'
    assert not decisive([found], durations=False)
    assert decisive([found], durations=True)
    assert differences([run(ptfr=math.nan)], [run(ptfr=math.nan)]) == []
    [found] = differences([run(ptfr=math.nan)], [run(ptfr=0.1)])
    assert worded(found) == 'turn 1: PTFR none -> 100 ms'


def test_a_decision_that_one_side_does_not_know_is_not_compared() -> None:
    assert differences([run(decisions=(('scope', 'en'),))], [run(decisions=())]) == []


def test_a_turn_from_messages() -> None:
    turn = SimpleNamespace(turn_id='t', path=3, outcome=1, answer='ab', ptfr=0.25, filler_shown=True)
    frames = [
        SimpleNamespace(turn_id='t', kind=2, text='b', seq=1),
        SimpleNamespace(turn_id='x', kind=2, text='?', seq=0),
        SimpleNamespace(turn_id='t', kind=1, text='Hm.', seq=0),
    ]
    assert told(turn, frames) == Told('L2', 'ANSWERED', 'ab', (('FILLER', 'Hm.'), ('ANSWER', 'b')),
                                      (('filler_shown', True),), 0.25)
