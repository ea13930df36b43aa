"""Brings a changed cache to disk now and then, off the path of any turn."""
from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from pace_ros.cache.semantic_cache import SemanticCache

log = logging.getLogger(__name__)


class CacheSaver:
    """A thread that flushes the cache every ``period()`` seconds if it has changed, and once more on ``close``.

    ``error`` says why the last flush failed, empty if it did not.
    """

    def __init__(self, cache: SemanticCache, period: Callable[[], float]) -> None:
        self._cache = cache
        self._period = period
        self._saved = cache.version
        self._stopping = threading.Event()
        self.error = ''
        self._thread = threading.Thread(target=self._run, name='cache-saver', daemon=True)
        self._thread.start()

    def save(self) -> int:
        """Flush the cache now and return the number of its entries. Raises OSError."""
        version = self._cache.version
        count = self._cache.flush()
        self._saved = version
        self.error = ''
        return count

    def close(self) -> None:
        """Stop the thread and flush what has changed."""
        self._stopping.set()
        self._thread.join(timeout=1.5)
        self._save_if_changed()

    def _run(self) -> None:
        while not self._stopping.wait(self._period()):
            self._save_if_changed()

    def _save_if_changed(self) -> None:
        if self._cache.version == self._saved:
            return
        try:
            self.save()
        except OSError as error:
            if not self.error:
                log.error('the cache cannot be saved, it goes on in memory: %s', error)
            self.error = str(error)
