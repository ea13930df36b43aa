"""Energy as the machine itself measures it, by RAPL, where it does."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

POWERCAP = Path('/sys/class/powercap')
MEASURED, MODELLED = 'measured (RAPL)', 'modelled'


@dataclass(frozen=True)
class Domain:
    """A package's counter: it counts micro-joules, and begins again after ``wraps`` of them."""

    path: Path
    wraps: int

    def read(self) -> int:
        """The counter. Raises OSError where it may not be read."""
        return int((self.path / 'energy_uj').read_text(encoding='ascii'))


class Rapl:
    """The packages of this machine. Without any, or without leave to read them, nothing is measured."""

    def __init__(self, folder: Path = POWERCAP) -> None:
        self._domains: list[tuple[Domain, int]] = []
        for path in sorted(folder.glob('intel-rapl:[0-9]*')):
            if path.name.count(':') > 1:  # part of a package that counts already
                continue
            try:
                wraps = int((path / 'max_energy_range_uj').read_text(encoding='ascii'))
                domain = Domain(path, wraps)
                self._domains.append((domain, domain.read()))
            except (OSError, ValueError):
                continue

    @property
    def available(self) -> bool:
        """Whether there is a counter that may be read."""
        return bool(self._domains)

    def told(self, tokens: int = 0) -> str:
        """What was drawn since the last call, in a sentence; with ``tokens`` of answers, also how many a joule."""
        if not self.available:
            return 'Energy was not measured: this machine has no RAPL counter that may be read.'
        joules = self.joules()
        each = f', {tokens / joules:.2f} tokens of answers a joule' if tokens and joules > 0 else ''
        return f'The machine drew {joules:.0f} J meanwhile{each}, {MEASURED}.'

    def joules(self) -> float:
        """Energy since the last call, or since this was made, J; of the whole package, whoever used it."""
        total, now = 0.0, []
        for domain, before in self._domains:
            counted = domain.read()
            total += ((counted - before) % domain.wraps) / 1e6
            now.append((domain, counted))
        self._domains = now
        return total
