"""The scripted day: quiet, opening rush, lunch, a cloud outage, closing."""
from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path as FilePath
from statistics import median

import pytest

from pace_ros.config import Config
from pace_ros.settings import with_values
from pace_ros.study.day import DAY, HOUR, DayLog, DaySample, DayTurn, Simulation
from pace_ros.turn import Path

BEGIN = dict(zip([phase.name for phase in DAY],
                 [sum(each.hours for each in DAY[:place]) * HOUR for place in range(len(DAY))], strict=True))


@pytest.fixture(scope='module')
def day() -> DayLog:
    return Simulation(Config()).run()


def turns(day: DayLog, phase: str) -> list[DayTurn]:
    return [turn for turn in day.turns if turn.phase == phase]


def samples(day: DayLog, phase: str, *, after: float = 0.0) -> list[DaySample]:
    """The minutes of a phase, from ``after`` s on."""
    return [each for each in day.samples if each.phase == phase and each.at - BEGIN[phase] >= after]


def static_share(minutes: Iterable[DaySample]) -> float:
    states = [each.state.gate.static for each in minutes]
    return sum(states) / len(states)


def test_every_turn_is_routed_by_one_of_the_two_laws(day: DayLog) -> None:
    assert len(day.turns) > 1000
    for turn in day.turns:
        if turn.law == 'static':
            assert (turn.theta_cache, turn.theta_direct) == (0.95, 0.75)
        else:
            assert turn.theta_cache == pytest.approx(0.98 - 0.08 * turn.load)
            assert turn.theta_direct == pytest.approx(0.85 - 0.15 * turn.load)
        assert turn.filler == (turn.p_instant <= 0.7)
        assert turn.budget == pytest.approx(min(1.2, max(0.2, 0.8 * turn.ttft_ewma - 0.01)))


def test_the_quiet_morning_is_static_once_eleven_windows_have_passed(day: DayLog) -> None:
    assert static_share(each for each in day.samples if each.at < 600) == 0
    assert static_share(samples(day, 'quiet', after=720)) > 0.9


def test_the_rush_opens_the_gate_within_two_windows_and_loosens_the_thresholds(day: DayLog) -> None:
    opened = [each.at - BEGIN['opening rush'] for each in samples(day, 'opening rush') if not each.state.gate.static]
    assert opened
    assert opened[0] <= 120
    adaptive = [turn for turn in turns(day, 'opening rush') if turn.law == 'adaptive']
    early = [turn for turn in turns(day, 'quiet') if turn.law == 'adaptive']
    assert median(turn.theta_direct for turn in adaptive) < median(turn.theta_direct for turn in early) - 0.03
    quiet, rush = (median(turn.load for turn in turns(day, phase)) for phase in ('quiet', 'opening rush'))
    assert rush > quiet + 0.2


def test_a_rush_that_lasts_is_steady_too(day: DayLog) -> None:
    assert static_share(samples(day, 'opening rush', after=1800)) > 0.8


def test_its_end_opens_the_gate_again(day: DayLog) -> None:
    assert any(not each.state.gate.static for each in samples(day, 'lunch') if each.at - BEGIN['lunch'] <= 300)
    assert static_share(samples(day, 'lunch', after=1800)) > 0.8


def test_the_outage_moves_neither_average_nor_thresholds_and_is_reported(day: DayLog) -> None:
    outage = samples(day, 'cloud outage', after=60)  # a request sent before may still be answered
    assert len({each.state.decision.ttft_ewma for each in outage}) == 1
    assert len({each.state.ttft_samples for each in outage}) == 1
    assert {turn.path for turn in turns(day, 'cloud outage')} == {Path.L0, Path.L1, Path.FALLBACK}
    assert all(math.isnan(turn.ttft) for turn in turns(day, 'cloud outage'))
    assert all(each.state.starved for each in samples(day, 'cloud outage', after=1200))
    assert not any(each.state.starved for each in samples(day, 'recovered', after=600))


def test_the_day_closes_static(day: DayLog) -> None:
    assert all(each.state.gate.static for each in day.samples[-15:])


def test_the_same_seed_is_the_same_day_and_another_is_another() -> None:
    phases = (replace(DAY[0], hours=0.5),)
    one, again, other = (Simulation(Config(), phases, seed=seed).run() for seed in (3, 3, 4))
    assert repr(one) == repr(again)  # NaN is not itself
    assert repr(one) != repr(other)


def test_the_literal_rule_hardly_ever_closes_the_gate_on_such_a_day() -> None:
    literal = Simulation(with_values(Config(), {'gate.significance': 1.0})).run()
    assert static_share(literal.samples) < 0.1


def test_a_static_node_has_a_static_day() -> None:
    log = Simulation(with_values(Config(), {'router.mode': 'static'}), (DAY[1],)).run()
    assert {(turn.law, turn.theta_cache, turn.theta_direct) for turn in log.turns} == {('static', 0.95, 0.75)}


def test_the_figure_can_be_drawn(day: DayLog, tmp_path: FilePath) -> None:
    pytest.importorskip('matplotlib', reason='figures need requirements/study.txt')
    from pace_ros.study.day_figure import draw

    target = tmp_path / 'sub' / 'day.png'
    draw(day, DAY, target)
    assert target.read_bytes().startswith(b'\x89PNG')
    assert target.stat().st_size > 20_000
