"""How long the processes of a measurement were kept from a core by others, as Linux accounts it."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROC = Path('/proc')


@dataclass(frozen=True)
class CoreTime:
    """s that all threads of some processes ran, and that they were ready to run and had no core."""

    ran: float
    waited: float

    def since(self, before: CoreTime) -> float:
        """The share of the time since ``before`` in which they had no core; 0 where they wanted none."""
        ran, waited = self.ran - before.ran, self.waited - before.waited
        return waited / (ran + waited) if ran + waited > 0 else 0.0


def children_time(proc: Path = PROC) -> CoreTime:
    """Of this process's children; nothing where the system does not account it."""
    ran = waited = 0.0
    for thread in (proc / 'self' / 'task').glob('*/children'):
        for child in _read(thread).split():
            for task in (proc / child / 'task').glob('*/schedstat'):
                times = _read(task).split()
                if len(times) >= 2:
                    ran, waited = ran + int(times[0]) / 1e9, waited + int(times[1]) / 1e9
    return CoreTime(ran, waited)


def _read(path: Path) -> str:
    """A file of /proc; nothing of a process that has ended."""
    try:
        return path.read_text(encoding='ascii')
    except OSError:
        return ''
