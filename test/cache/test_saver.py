from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pace_ros.cache import CacheEntry, CacheSaver, SemanticCache, persistence
from pace_ros.clock import VirtualClock

FINGERPRINT = 'test-2'
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
    """Stands before ``persistence.save``: counts, and refuses while ``error`` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.error: OSError | None = None
        self._save = persistence.save
        monkeypatch.setattr(persistence, 'save', self)

    def __call__(self, *args: object) -> None:
        self.count += 1
        if self.error is not None:
            raise self.error
        self._save(*args)  # type: ignore[arg-type]


def admit(cache: SemanticCache, question: str) -> None:
    cache.admit(CacheEntry(question, 'answer', 'en', (), 0.0, None), np.array([1, 0], dtype=np.float32))


@pytest.fixture
def saves(monkeypatch: pytest.MonkeyPatch) -> Saves:
    return Saves(monkeypatch)


@pytest.fixture
def cache(clock: VirtualClock) -> SemanticCache:
    return SemanticCache(dimension=2, capacity=10, half_life=10.0, clock=clock)


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def saver(saves: Saves, cache: SemanticCache, ticks: Ticks, tmp_path: Path) -> Iterator[CacheSaver]:
    assert saves.count == 0
    saver = CacheSaver(cache, tmp_path / 'l0.npz', FINGERPRINT, ticks)
    yield saver
    saver.close()


def saved_questions(tmp_path: Path) -> set[str]:
    return {row.entry.question for row in persistence.load(tmp_path / 'l0.npz', FINGERPRINT)}


def test_a_changed_cache_is_saved_once_and_an_unchanged_one_not_at_all(
    saver: CacheSaver, cache: SemanticCache, ticks: Ticks, saves: Saves, tmp_path: Path
) -> None:
    ticks.wait_for_more(3)
    assert saves.count == 0
    admit(cache, 'a')
    ticks.wait_for_more(3)
    assert (saves.count, saver.error) == (1, '')
    assert saved_questions(tmp_path) == {'a'}
    cache.recall_exact('nothing', 'en')
    ticks.wait_for_more(3)
    assert saves.count == 1


def test_what_was_restored_before_is_not_saved_again(cache: SemanticCache, saves: Saves, tmp_path: Path) -> None:
    admit(cache, 'a')
    saver = CacheSaver(cache, tmp_path / 'l0.npz', FINGERPRINT, lambda: 3600.0)
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
    assert saved_questions(tmp_path) == {'a', 'b'}
    saver.close()
    assert saves.count == 1


def test_closing_saves_what_has_changed_without_waiting_for_the_period(
    cache: SemanticCache, saves: Saves, tmp_path: Path
) -> None:
    saver = CacheSaver(cache, tmp_path / 'l0.npz', FINGERPRINT, lambda: 3600.0)
    admit(cache, 'a')
    saver.close()
    assert saves.count == 1
    assert saved_questions(tmp_path) == {'a'}
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
        assert saved_questions(tmp_path) == {'a'}
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


def test_a_cache_changed_while_it_is_written_is_written_again(
    cache: SemanticCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = persistence.save

    def save_with_a_late_answer(*args: object) -> None:
        if len(cache) == 1:
            admit(cache, 'late')
        save(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(persistence, 'save', save_with_a_late_answer)
    saver = CacheSaver(cache, tmp_path / 'l0.npz', FINGERPRINT, lambda: 3600.0)
    admit(cache, 'early')
    assert saver.save() == 1
    saver.close()
    assert saved_questions(tmp_path) == {'early', 'late'}
