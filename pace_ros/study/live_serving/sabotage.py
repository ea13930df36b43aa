"""What goes wrong in a live fleet, on purpose: servers that die or stand still, slot files that vanish or rot."""
from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pace_ros.study.live_serving.live_fleet import LiveFleet
from pace_ros.study.live_serving.server import Server

PERIOD = 0.0005  # s between two looks at the slot folder: a save takes some ms
STEADY = 0.03  # s without growth: the file has been written
LONGEST = 20.0  # s that a file may take to be written


def removed(file: Path) -> None:
    """The file is gone."""
    file.unlink(missing_ok=True)


def corrupted(file: Path) -> None:
    """It is as long as before, and its first half says nothing."""
    with file.open('r+b') as content:
        content.write(bytes(file.stat().st_size // 2))


def truncated(file: Path) -> None:
    """Its second half is missing."""
    with file.open('r+b') as content:
        content.truncate(file.stat().st_size // 2)


class NextHandOver:
    """Waits in a thread of its own for the next slot file, and strikes once; ``struck`` is set afterwards."""

    def __init__(self, fleet: LiveFleet, strike: Callable[[Path], None]) -> None:
        self.struck = threading.Event()
        self._over = threading.Event()
        self._folder = fleet.slot_dir
        self._known = {each.name for each in self._folder.iterdir()}
        self._strike = strike
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait no longer."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(PERIOD):
            new = [each for each in self._folder.iterdir() if each.name not in self._known]
            if new:
                self._strike(new[0])
                self.struck.set()
                return


def spoiling(fleet: LiveFleet, damage: Callable[[Path], None]) -> Callable[[Path], None]:
    """A strike between save and restore: decoders stand still until the file has been written and damaged."""
    decoders = [fleet.replicas[each.name] for each in fleet.members if each.role != 'prefill']

    def strike(file: Path) -> None:
        until, size, since = time.monotonic() + LONGEST, 0, time.monotonic()
        held = False
        try:
            while time.monotonic() < until and not (size and time.monotonic() - since > STEADY):
                found = file.stat().st_size if file.exists() else 0
                if found != size:
                    size, since = found, time.monotonic()
                if size and not held:
                    held = True
                    for each in decoders:
                        each.send(signal.SIGSTOP)
                time.sleep(PERIOD)
            if file.exists():
                damage(file)
        finally:
            for each in decoders:
                each.send(signal.SIGCONT)

    return strike


def dies(server: Server, absent: float) -> None:
    """Kill a server, and start it again after ``absent`` s in a thread that waits for it."""
    server.kill()

    def again() -> None:
        time.sleep(absent)
        server.start()
        server.wait()

    threading.Thread(target=again, daemon=True).start()


def stands_still(server: Server, for_: float) -> None:
    """Stop a server in its tracks for so many s."""
    server.send(signal.SIGSTOP)
    timer = threading.Timer(for_, server.send, (signal.SIGCONT,))
    timer.daemon = True
    timer.start()
