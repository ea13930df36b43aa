"""What the router remembers over a restart: the average of first-token times."""
from __future__ import annotations

import json
import logging
import math
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from pace_ros.clock import Clock
from pace_ros.control.router import Router
from pace_ros.files import replacing

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TtftMemory:
    """The average (s), the wall time of its last sample (s since the epoch), and whose first tokens they were."""

    ttft: float
    sampled: float
    endpoint: str

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all. Raises OSError."""
        with replacing(path) as file:
            file.write(json.dumps(asdict(self)).encode() + b'\n')

    def age(self, wall: float, *, endpoint: str, longest: float) -> float | None:
        """Seconds since the last sample, None if it is of another endpoint, too old, or from the future."""
        age = wall - self.sampled
        return age if endpoint == self.endpoint and 0.0 <= age < longest else None


def load(path: Path) -> TtftMemory | None:
    """Read the file, None if there is none or it says nothing sensible."""
    try:
        fields = json.loads(path.read_text(encoding='utf-8'))
        memory = TtftMemory(float(fields['ttft']), float(fields['sampled']), str(fields['endpoint']))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        log.warning('the router starts afresh: %s cannot be read: %s', path, error)
        return None
    return memory if math.isfinite(memory.ttft) and memory.ttft >= 0 and math.isfinite(memory.sampled) else None


class TtftKeeper:
    """Brings the router's average over a restart; ``path`` None keeps nothing."""

    def __init__(self, router: Router, path: Path | None, *, endpoint: str, longest: float, clock: Clock) -> None:
        self._router = router
        self._path = path
        self._endpoint = endpoint
        self._clock = clock
        self._saved = 0
        self._writing = threading.Lock()
        memory = load(path) if path is not None else None
        age = memory.age(clock.wall(), endpoint=endpoint, longest=longest) if memory is not None else None
        if memory is not None and age is not None:
            router.restore(memory.ttft, age)
        self.error = ''

    def save_if_changed(self) -> None:
        """Write the average if there was a sample since the last time; a disk that refuses is noted, not raised."""
        with self._writing:
            self._save_if_changed()

    def _save_if_changed(self) -> None:
        state = self._router.state()
        if self._path is None or state.ttft_samples == self._saved:
            return
        memory = TtftMemory(state.decision.ttft_ewma, self._clock.wall() - state.ttft_age, self._endpoint)
        try:
            memory.save(self._path)
        except OSError as error:
            if not self.error:
                log.error('the average of first-token times cannot be saved: %s', error)
            self.error = str(error)
        else:
            self._saved, self.error = state.ttft_samples, ''
