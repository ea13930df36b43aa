from __future__ import annotations

import json
import logging
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.clock import VirtualClock
from pace_ros.config import Config
from pace_ros.control import Router, TtftKeeper
from pace_ros.control.memory import TtftMemory, load

HERE = 'http://127.0.0.1:8077/v1 local'
DAY = 86_400.0
CONFIG = Config()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / 'router.json'


def keeper(path: Path | None, clock: VirtualClock, *, endpoint: str = HERE, longest: float = 900.0) -> TtftKeeper:
    return TtftKeeper(Router(lambda: CONFIG, clock), path, endpoint=endpoint, longest=longest, clock=clock)


def ttft(keeper: TtftKeeper) -> float:
    return keeper._router.state().decision.ttft_ewma


def saved(path: Path, clock: VirtualClock) -> None:
    """A run that heard one first token of 3.5 s, so that the average is 2.1 s, and ended."""
    run = keeper(path, clock)
    run._router.observe_ttft(3.5)
    run.save_if_changed()
    assert run.error == ''


# -- the file ---------------------------------------------------------------------------------------------------------


@given(ttft=st.floats(0.0, 1e6), sampled=st.floats(0.0, 1e11), endpoint=st.text(max_size=40))
def test_what_is_saved_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, ttft: float, sampled: float, endpoint: str
) -> None:
    path = tmp_path_factory.getbasetemp() / 'memory' / 'router.json'
    memory = TtftMemory(ttft, sampled, endpoint)
    memory.save(path)
    assert load(path) == memory
    assert [each.name for each in path.parent.iterdir()] == ['router.json']


def test_no_file_is_no_memory_and_no_complaint(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert load(path) is None
    assert caplog.records == []


GOOD: dict[str, object] = {'ttft': 2.0, 'sampled': 5.0, 'endpoint': HERE}


@pytest.mark.parametrize(
    'text',
    [
        '',
        '{',
        'null',
        '[]',
        '7',
        '"ttft"',
        '{"ttft": 2.0}',
        json.dumps({**GOOD, 'ttft': None}),
        json.dumps({**GOOD, 'ttft': 'soon'}),
        json.dumps({**GOOD, 'ttft': [2.0]}),
        json.dumps({**GOOD, 'ttft': -0.1}),
        json.dumps({**GOOD, 'ttft': math.nan}),
        json.dumps({**GOOD, 'ttft': math.inf}),
        json.dumps({**GOOD, 'sampled': math.nan}),
        json.dumps({**GOOD, 'sampled': -math.inf}),
        json.dumps({**GOOD, 'ttft': 10**400}),
        json.dumps({**GOOD, 'sampled': 10**400}),
        '[' * 100_000,
        '\0\0\0',
    ],
    ids=lambda text: text[:40] or 'empty',
)
def test_a_broken_file_is_no_memory(path: Path, clock: VirtualClock, text: str) -> None:
    path.write_text(text, encoding='utf-8')
    assert load(path) is None
    assert ttft(keeper(path, clock)) == 1.5


def test_a_file_that_is_no_text_and_a_folder_are_no_memory(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(b'\xff\xfe\x80')
    assert load(path) is None
    assert load(tmp_path) is None
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2


def test_a_broken_file_is_replaced_by_the_next_save(path: Path, clock: VirtualClock) -> None:
    path.write_text('{', encoding='utf-8')
    saved(path, clock)
    assert load(path) == TtftMemory(pytest.approx(2.1), clock.wall(), HERE)


@pytest.mark.parametrize(
    ('endpoint', 'later', 'age'),
    [
        (HERE, 0.0, 0.0),
        (HERE, 899.9, 899.9),
        (HERE, 900.0, None),  # too old
        (HERE, -0.1, None),   # from the future
        ('http://elsewhere/v1 local', 10.0, None),
    ],
)
def test_only_a_young_memory_of_the_same_endpoint_counts(endpoint: str, later: float, age: float | None) -> None:
    memory = TtftMemory(2.0, 1e6, HERE)
    assert memory.age(1e6 + later, endpoint=endpoint, longest=900.0) == pytest.approx(age)


# -- over a restart ---------------------------------------------------------------------------------------------------


def test_a_restart_goes_on_with_the_average_and_its_age(path: Path, clock: VirtualClock) -> None:
    run = keeper(path, clock)
    run._router.observe_ttft(3.5)
    clock.advance(100.0)
    run.save_if_changed()
    restarted = VirtualClock(monotonic=7.0, wall=clock.wall() + 60.0)
    state = keeper(path, restarted)._router.state()
    assert state.decision.ttft_ewma == pytest.approx(2.1)
    assert state.ttft_age == pytest.approx(160.0)
    assert state.ttft_samples == 0


def test_the_age_of_a_sample_adds_up_over_restarts_that_heard_nothing(path: Path, clock: VirtualClock) -> None:
    saved(path, clock)
    for minutes in (5, 10, 14):
        between = keeper(path, VirtualClock(wall=clock.wall() + 60.0 * minutes))
        assert ttft(between) == pytest.approx(2.1)
        between.save_if_changed()
    assert ttft(keeper(path, VirtualClock(wall=clock.wall() + 900.0))) == 1.5


@pytest.mark.parametrize(
    ('later', 'endpoint', 'longest'),
    [
        (901.0, HERE, 900.0),
        (-1.0, HERE, 900.0),
        (1.0, 'http://elsewhere/v1 local', 900.0),
        (1.0, 'http://127.0.0.1:8077/v1 other', 900.0),
        (0.0, HERE, 0.0),  # never
    ],
)
def test_a_restart_starts_afresh_otherwise(
    path: Path, clock: VirtualClock, later: float, endpoint: str, longest: float
) -> None:
    saved(path, clock)
    later_clock = VirtualClock(wall=clock.wall() + later)
    assert ttft(keeper(path, later_clock, endpoint=endpoint, longest=longest)) == 1.5


def test_without_a_path_nothing_is_kept(clock: VirtualClock) -> None:
    run = keeper(None, clock)
    run._router.observe_ttft(3.5)
    run.save_if_changed()
    assert run.error == ''


def test_only_a_new_sample_is_written(path: Path, clock: VirtualClock) -> None:
    run = keeper(path, clock)
    run.save_if_changed()
    assert not path.exists()
    run._router.observe_ttft(3.5)
    run.save_if_changed()
    path.unlink()
    run.save_if_changed()
    assert not path.exists()
    run._router.observe_ttft(3.5)
    run.save_if_changed()
    assert path.exists()


# -- jumps of the wall clock ------------------------------------------------------------------------------------------


@pytest.mark.parametrize('jump', [3 * DAY, -3 * DAY, 1e9, -1e9])
def test_a_wall_clock_set_right_before_the_save_makes_the_sample_no_older(
    path: Path, clock: VirtualClock, jump: float
) -> None:
    run = keeper(path, clock)
    run._router.observe_ttft(3.5)
    clock.advance(30.0)
    clock.jump_wall(jump)
    run.save_if_changed()
    state = keeper(path, VirtualClock(wall=clock.wall() + 60.0))._router.state()
    assert state.decision.ttft_ewma == pytest.approx(2.1)
    assert state.ttft_age == pytest.approx(90.0, abs=1e-3)


@pytest.mark.parametrize('jump', [3 * DAY, -3 * DAY])
def test_a_wall_clock_set_between_two_runs_makes_the_memory_worthless(
    path: Path, clock: VirtualClock, jump: float
) -> None:
    saved(path, clock)
    clock.jump_wall(jump)
    assert ttft(keeper(path, clock)) == 1.5


# -- a disk that refuses ----------------------------------------------------------------------------------------------


def test_an_unwritable_folder_is_noted_once_and_left_behind_when_it_gives_way(
    tmp_path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / 'data'
    blocked.write_text('a file where the folder should be')
    run = keeper(blocked / 'router.json', clock)
    for _ in range(3):
        run._router.observe_ttft(3.5)
        run.save_if_changed()
        assert 'data' in run.error
    assert [record.levelno for record in caplog.records].count(logging.ERROR) == 1
    blocked.unlink()
    run.save_if_changed()
    assert run.error == ''
    assert load(blocked / 'router.json') is not None


def test_a_save_that_fails_half_way_leaves_the_old_file_and_no_draft(
    path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(path, clock)
    before = path.read_bytes()
    run = keeper(path, clock)
    run._router.observe_ttft(9.0)

    def refuse(_self: Path, _target: Path) -> Path:
        raise OSError('disk full')

    monkeypatch.setattr(Path, 'replace', refuse)
    run.save_if_changed()
    assert run.error == 'disk full'
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
