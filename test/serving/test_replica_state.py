from __future__ import annotations

import contextlib
import dataclasses

import anyio
import pytest

from pace_ros.clock import VirtualClock
from pace_ros.serving.fleet import Deadlines, Replica
from pace_ros.serving.ledger import Ledger
from pace_ros.serving.replica_client import ReplicaClient
from pace_ros.serving.replica_errors import ReplicaDown
from pace_ros.serving.replica_state import ReplicaState
from pace_ros.serving.usage import Usage, says_something, usage_of

ONE = Replica('one', 'http://one', slots=2, context=100, prefill_rate=50.0)


@pytest.fixture
def state() -> ReplicaState:
    return ReplicaState(ReplicaClient(ONE, Deadlines(), VirtualClock()))


def test_its_rate_is_the_first_reading_then_a_running_mean(state: ReplicaState) -> None:
    assert state.rate == 50.0
    state.learn(Usage(prompt=10, cached=0, answered=1, reading=1.0))  # too short to tell
    assert state.rate == 50.0
    state.learn(Usage(prompt=120, cached=20, answered=1, reading=1.0))
    assert state.rate == 100.0
    state.learn(Usage(prompt=200, cached=0, answered=1, reading=1.0))
    assert state.rate == pytest.approx(120.0)


@pytest.mark.parametrize('reading', [0.0, -1.0, float('nan'), float('inf')])
def test_a_reading_that_cannot_be_teaches_nothing(state: ReplicaState, reading: float) -> None:
    state.learn(Usage(prompt=120, cached=20, answered=1, reading=reading))
    assert (state.rate, state.measured) == (50.0, False)


def test_the_more_it_has_to_read_the_longer_it_may_take(state: ReplicaState) -> None:
    state.measured = True
    assert state.patience == 5.0
    with state.reading(100):  # 2 s by its rate
        assert state.patience == 13.0
        with state.reading(50):
            assert state.patience == 17.0


@pytest.mark.parametrize('configured', [50.0, 200.0, 10_000.0])
def test_one_that_has_not_been_measured_may_be_slow(configured: float) -> None:
    replica = dataclasses.replace(ONE, prefill_rate=configured)
    state = ReplicaState(ReplicaClient(replica, Deadlines(), VirtualClock()))
    with state.reading(395):  # 20 s at 20 tokens/s
        assert state.patience == pytest.approx(5.0 + 39.5)
    with state.reading(1):  # a hand-over leaves nothing to read
        assert state.patience == pytest.approx(5.1)
    state.learn(Usage(prompt=395, cached=0, answered=1, reading=19.75))
    with state.reading(395):
        assert state.patience == pytest.approx(5.0 + 4 * 19.75)


def test_two_strikes_and_it_is_not_well(state: ReplicaState) -> None:
    seen = []
    for state.strikes in (0, 1, 2, 3, 0):
        seen.append(state.well)
    assert seen == [True, True, False, False, True]
    state.lose()
    assert (state.well, state.up) == (False, False)
    state.up = True
    assert state.well


@pytest.mark.anyio
async def test_who_waits_for_it_is_told_that_it_is_lost(state: ReplicaState) -> None:
    told = []

    async def wait() -> None:
        with pytest.raises(ReplicaDown, match='one was lost'), state.while_up():
            await anyio.sleep_forever()
        told.append(1)

    with anyio.fail_after(5):
        with state.while_up():
            await anyio.lowlevel.checkpoint()
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            state.lose()
    assert told == [1, 1]


def test_what_it_does_is_taken_back_whatever_happens(state: ReplicaState) -> None:
    ledger = Ledger([ONE])
    ledger.open('v', 'one', 60)
    with contextlib.suppress(KeyError), state.reading(40), state.answering():
        view = state.view(ledger, held=7, hands_over=True)
        assert (view.waiting, view.streams, view.free, view.free_slots, view.held) == (40, 1, 140, 1, 7)
        raise KeyError
    assert (state.waiting, state.streams) == (0, 0)


def test_usage() -> None:
    usage = usage_of({'usage': {'prompt_tokens': 9, 'completion_tokens': 4},
                      'timings': {'cache_n': 6, 'prompt_ms': 30.0}})
    assert usage == Usage(prompt=9, cached=6, answered=4, reading=0.03)
    assert (usage.read, usage.held) == (3, 12)
    assert usage_of({'usage': None}) is None
    assert usage_of({'usage': {'prompt_tokens': 9, 'prompt_tokens_details': {'cached_tokens': 2}}}).cached == 2
    assert Usage(prompt=9, cached=0, answered=0, reading=0.0).held == 9


@pytest.mark.parametrize(('delta', 'says'), [
    ({'content': 'x'}, True), ({'content': None}, False), ({}, False), ({'reasoning_content': 'x'}, True),
    ({'tool_calls': [{'index': 0}]}, True), ({'role': 'assistant', 'content': ''}, False),
])
def test_what_says_something(delta: dict[str, object], says: bool) -> None:
    assert says_something({'choices': [{'delta': delta}]}) is says
