"""Who waits, and who does not."""
from __future__ import annotations

from typing import Any

from pace_ros.serving.fleet import Fleet
from pace_ros.serving.simulator.costs import Costs
from pace_ros.serving.simulator.fleets import simulated_fleet
from pace_ros.serving.simulator.hardware import Hardware
from pace_ros.serving.simulator.outcome import Outcome
from pace_ros.serving.simulator.script import Script, TurnScript, Workload
from pace_ros.serving.simulator.simulation import simulate

ONE_SECOND = Hardware(Costs(decode_base=1.0))  # a token; reading takes no time


def fleet(**admission: Any) -> Fleet:
    return simulated_fleet(prefillers=0, decoders=1, slots=1, context=1000,
                           admission={'utilisation': 10.0, **admission})


def served(of: Fleet, *arrivals: tuple[float, int]) -> Outcome:
    """One turn each, at a time and for so many s."""
    return simulate(of, ONE_SECOND, Workload('w', tuple(
        (at, Script(str(number), (TurnScript(10, answer + 1),))) for number, (at, answer) in enumerate(arrivals))))


def test_they_come_in_as_they_came() -> None:
    turns = served(fleet(wait=100.0), (0.0, 5), (1.0, 5), (2.0, 5), (3.0, 5)).turns
    assert list(turns['arrival'] + turns['queued']) == [0.0, 5.0, 10.0, 15.0]


def test_nobody_waits_longer_than_allowed() -> None:
    turns = served(fleet(wait=6.0), (0.0, 5), (1.0, 9), (2.0, 5)).turns
    assert list(turns['queued']) == [0.0, 4.0, 6.0]
    assert list(turns['refused'] != '') == [False, False, True]


def test_without_waiting_they_are_refused_at_once() -> None:
    turns = served(fleet(wait=0.0), (0.0, 5), (1.0, 5)).turns
    assert list(turns['queued']) == [0.0, 0.0]
    assert 'taken by' in turns['refused'].iloc[1]


def test_no_more_wait_than_allowed() -> None:
    turns = served(fleet(wait=100.0, waiting=1), (0.0, 5), (1.0, 5), (2.0, 5)).turns
    assert list(turns['refused'] != '') == [False, False, True]
    assert '1 turns are waiting' in turns['refused'].iloc[2]


def test_the_gateway_s_own_meter_holds_back_what_cannot_be_read() -> None:
    """1,000 prompt tokens at 10 a second, of which 1.0 s at most may lie ahead: the second one is refused."""
    of = simulated_fleet(prefillers=0, decoders=1, slots=4, context=2000, rate=10.0,
                         admission={'utilisation': 1.0, 'window': 1.0, 'wait': 0.0})
    scripts = [Script(name, (TurnScript(1000, 2),)) for name in 'ab']
    hardware = Hardware(Costs(prefill_token=0.1))
    turns = simulate(of, hardware, Workload('w', ((0.0, scripts[0]), (50.0, scripts[1])))).turns
    assert list(turns['refused'] != '') == [False, True]
    assert 'prompt tokens/s arrive' in turns['refused'].iloc[1]
