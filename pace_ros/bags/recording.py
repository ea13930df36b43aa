"""Messages on their way to the disk: a queue that never blocks who fills it, and a thread that writes."""
from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from rosbags.interfaces import Qos

from pace_ros.bags.bag_error import BagError
from pace_ros.bags.redaction import without_text
from pace_ros.bags.writing import BagWriter
from pace_ros.clock import Clock, SystemClock

log = logging.getLogger(__name__)
FLUSH_PERIOD = 1.0  # s: what the end of the machine may cost
MAX_PENDING = 64 * 1024 * 1024  # bytes


@dataclass(frozen=True)
class Heard:
    """One message as it came: log time in ns since the epoch, CDR bytes, the QoS its publishers offered, and whether
    its words may be kept, which was decided when it came.
    """

    topic: str
    type: str
    time: int
    data: bytes
    qos: tuple[Qos, ...] = ()
    words: bool = True


class Recording:
    """Writes what it is given, flushed every second. ``error`` says why it stopped."""

    def __init__(self, writer: BagWriter, *, clock: Clock | None = None, max_pending: int = MAX_PENDING) -> None:
        self._writer = writer
        self._clock = clock or SystemClock()
        self._max_pending = max_pending
        self._queue: deque[Heard] = deque()
        self._pending = 0
        self._wake = threading.Condition()
        self._closing = False
        self._unknown: set[str] = set()
        self.written = 0
        self.bytes = 0
        self.lost = 0
        self.error = ''
        self._thread = threading.Thread(target=self._run, name='bag-writer', daemon=True)
        self._thread.start()

    def put(self, message: Heard) -> None:
        """Hand over one message; returns at once. What a slow disk leaves no room for is counted as lost."""
        with self._wake:
            if self.error or self._pending + len(message.data) > self._max_pending:
                self.lost += 1
                return
            self._queue.append(message)
            self._pending += len(message.data)
            self._wake.notify()

    def close(self, timeout: float = 20.0) -> None:
        """Write what waits and end the bag; ``error`` holds what went wrong."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join(timeout)
        if self._thread.is_alive():
            self.error = f'{self._writer.path}: the disk did not take the rest within {timeout:g} s.'

    def _run(self) -> None:
        try:
            self._write()
            self._writer.close()
        except BagError as error:
            with self._wake:
                self.error = str(error)
                self.lost += len(self._queue)
                self._queue.clear()
        except Exception as error:  # the thread's last word: without it the recorder would go on for nothing
            log.exception('the bag cannot be written')
            self.error = f'{self._writer.path} cannot be written: {error}'

    def _write(self) -> None:
        due = self._clock.monotonic() + FLUSH_PERIOD
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._queue or self._closing, timeout=FLUSH_PERIOD)
                batch: Sequence[Heard] = tuple(self._queue)
                self._queue.clear()
                self._pending = 0
                closing = self._closing
            for message in batch:
                self._store(message)
            if self._clock.monotonic() >= due:
                self._writer.flush()
                due = self._clock.monotonic() + FLUSH_PERIOD
            if closing and not self._queue:
                return

    def _store(self, message: Heard) -> None:
        try:
            data = message.data if message.words else without_text(message.type, message.data)
            if data is None:
                return
            self._writer.add_topic(message.topic, message.type, qos=message.qos)
        except ValueError as error:  # no definition, or bytes from which words cannot be taken
            self.lost += 1
            if message.type not in self._unknown:
                self._unknown.add(message.type)
                log.error('%s is not recorded: %s', message.topic, error)
            return
        self._writer.write(message.topic, message.type, message.time, data)
        self.written += 1
        self.bytes += len(data)
