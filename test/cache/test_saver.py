from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pace_ros.cache.entry import CacheEntry
from pace_ros.cache.saver import CacheSaver
from pace_ros.cache.semantic_cache import SemanticCache
from pace_ros.clock import VirtualClock

DEADLINE = 10.0


class Ticks:
    """The saver's period; counts how often the saver has asked for it, that is, gone to sleep."""

    def __init__(self, seconds: float = 0.001) -> None:
        self.seconds = seconds
        self.count = 0
        self.changed = threading.Condition()

    def __call__(self) -> float:
        with self.changed:
            self.count += 1
            self.changed.notify_all()
        return self.seconds

    def wait_for_more(self, rounds: int) -> None:
        """Wait until the saver has slept, and looked at the cache, ``rounds`` more times."""
        with self.changed:
            goal = self.count + rounds + 1
            assert self.changed.wait_for(lambda: self.count >= goal, DEADLINE)


class Saves:
    """Stands before a cache's ``flush``: counts, and refuses while ``error`` is set."""

    def __init__(self, cache: SemanticCache, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.error: OSError | None = None
        self._flush = cache.flush
        monkeypatch.setattr(cache, 'flush', self)

    def __call__(self) -> int:
        self.count += 1
        if self.error is not None:
            raise self.error
        return self._flush()


def admit(cache: SemanticCache, question: str) -> None:
    cache.admit(CacheEntry(question, 'answer', 'en', (), 0.0, None), np.array([1, 0], dtype=np.float32))


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def cache(clock: VirtualClock, tmp_path: Path) -> Iterator[SemanticCache]:
    cache = SemanticCache(dimension=2, capacity=10, half_life=10.0, clock=clock, file=tmp_path / 'l0.sqlite')
    yield cache
    cache.close()


@pytest.fixture
def saves(cache: SemanticCache, monkeypatch: pytest.MonkeyPatch) -> Saves:
    return Saves(cache, monkeypatch)


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def saver(saves: Saves, cache: SemanticCache, ticks: Ticks) -> Iterator[CacheSaver]:
    assert saves.count == 0
    saver = CacheSaver(cache, ticks)
    yield saver
    saver.close()


def saved(tmp_path: Path) -> dict[str, int]:
    """Hits by question, as they are on the disk."""
    with contextlib.closing(sqlite3.connect(tmp_path / 'l0.sqlite')) as db:
        return dict(db.execute('SELECT question, hits FROM entry'))


def test_a_changed_cache_is_saved_once_and_an_unchanged_one_not_at_all(
    saver: CacheSaver, cache: SemanticCache, ticks: Ticks, saves: Saves, tmp_path: Path
) -> None:
    ticks.wait_for_more(3)
    assert saves.count == 0
    admit(cache, 'a')
    ticks.wait_for_more(3)
    assert (saves.count, saver.error) == (1, '')
    assert saved(tmp_path).keys() == {'a'}
    cache.recall_exact('nothing', 'en')
    ticks.wait_for_more(3)
    assert saves.count == 1


def test_what_was_restored_before_is_not_saved_again(cache: SemanticCache, saves: Saves, tmp_path: Path) -> None:
    admit(cache, 'a')
    saver = CacheSaver(cache, lambda: 3600.0)
    saver.close()
    assert saves.count == 0


def test_saving_on_demand_says_how_many_entries_and_is_not_repeated(
    saver: CacheSaver, cache: SemanticCache, ticks: Ticks, saves: Saves, tmp_path: Path
) -> None:
    ticks.seconds = 3600.0
    ticks.wait_for_more(0)
    admit(cache, 'a')
    admit(cache, 'b')
    assert saver.save() == 2
    assert saved(tmp_path).keys() == {'a', 'b'}
    saver.close()
    assert saves.count == 1


def test_closing_saves_what_has_changed_without_waiting_for_the_period(
    cache: SemanticCache, saves: Saves, tmp_path: Path
) -> None:
    saver = CacheSaver(cache, lambda: 3600.0)
    admit(cache, 'a')
    saver.close()
    assert saves.count == 1
    assert saved(tmp_path).keys() == {'a'}
    saver.close()  # twice does no harm
    assert saves.count == 1


def test_a_disk_that_refuses_is_logged_once_and_tried_again(
    saver: CacheSaver, cache: SemanticCache, ticks: Ticks, saves: Saves, tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    saves.error = OSError(28, 'No space left on device')
    with caplog.at_level(logging.ERROR):
        admit(cache, 'a')
        ticks.wait_for_more(4)
        assert saves.count >= 3
        assert 'No space left' in saver.error
        assert len(caplog.records) == 1
        assert 'No space left' in caplog.text
        saves.error = None
        ticks.wait_for_more(2)
        assert saver.error == ''
        assert saved(tmp_path).keys() == {'a'}
        saves.error = OSError(5, 'Input/output error')
        admit(cache, 'b')
        ticks.wait_for_more(2)
        assert len(caplog.records) == 2  # another trouble, another line
        saves.error = None


def test_saving_on_demand_tells_the_caller_that_the_disk_refuses(
    saver: CacheSaver, cache: SemanticCache, saves: Saves
) -> None:
    admit(cache, 'a')
    saves.error = OSError(28, 'No space left on device')
    with pytest.raises(OSError, match='No space left'):
        saver.save()
    saves.error = None


def test_a_cache_used_while_it_is_written_is_written_again(
    cache: SemanticCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = cache.flush

    def flush_with_a_late_hit() -> int:
        count = flush()
        if cache.hits == 1:
            cache.recall_exact('a', 'en')
        return count

    monkeypatch.setattr(cache, 'flush', flush_with_a_late_hit)
    saver = CacheSaver(cache, lambda: 3600.0)
    admit(cache, 'a')
    cache.recall_exact('a', 'en')
    assert saver.save() == 1
    assert saved(tmp_path) == {'a': 1}
    saver.close()
    assert saved(tmp_path) == {'a': 2}


def test_a_cache_in_memory_may_be_flushed_too(clock: VirtualClock) -> None:
    cache = SemanticCache(dimension=2, capacity=10, half_life=10.0, clock=clock)
    admit(cache, 'a')
    saver = CacheSaver(cache, lambda: 3600.0)
    assert saver.save() == 1
    saver.close()
    cache.close()


def test_a_flush_that_fails_is_an_error_of_the_system_and_loses_no_use(
    cache: SemanticCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object) -> None:
        raise sqlite3.OperationalError('database or disk is full')

    admit(cache, 'a')
    cache.recall_exact('a', 'en')
    with monkeypatch.context() as patch:
        patch.setattr(cache._held.store, 'note_uses', refuse)
        with pytest.raises(OSError, match=r'l0\.sqlite cannot be written: database or disk is full'):
            cache.flush()
    assert saved(tmp_path) == {'a': 0}
    cache.flush()
    assert saved(tmp_path) == {'a': 1}


def test_many_uses_are_all_written(clock: VirtualClock, tmp_path: Path) -> None:
    cache = SemanticCache(dimension=2, capacity=500, half_life=10.0, clock=clock, file=tmp_path / 'l0.sqlite')
    for number in range(350):
        admit(cache, f'q{number}')
        cache.recall_exact(f'q{number}', 'en')
    cache.flush()
    assert set(saved(tmp_path).values()) == {1}
    cache.close()
