"""How a simulated cloud behaves: its latencies, its limits, its faults, and what it knows."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

import yaml

from pace_ros.settings import ConfigError, setting, settings_of, with_values
from pace_ros.study.refusal import Refusal

P = ParamSpec('P')
T = TypeVar('T')
REFUSED = 'refused'
UNAVAILABLE = 'unavailable'


class CloudError(Refusal):
    """A setting of the simulated cloud that cannot be used; the message names it."""


@dataclass(frozen=True)
class Outage:
    """From ``begin`` to ``end`` (s since the cloud began) nobody is answered."""

    begin: float
    end: float

    @classmethod
    def read(cls, text: str) -> Outage:
        """Read 'BEGIN-END'. Raises CloudError."""
        begin, _, end = text.partition('-')
        try:
            outage = cls(float(begin), float(end))
        except ValueError:
            raise CloudError(f'An outage must be BEGIN-END in s, such as 60-90, not {text!r}.') from None
        if not 0.0 <= outage.begin < outage.end:
            raise CloudError(f'An outage must begin at 0 s or later and end after it began, unlike {text!r}.')
        return outage


@dataclass(frozen=True)
class CloudSettings:
    """Everything about a simulated cloud but its words. Raises CloudError for a value out of its range.

    The first token of a request comes M exp(sigma Z) (1 + (n / knee) ^ power) s after a slot is free, where M is
    ``first_token_median``, Z the request's standard normal draw and n the number of other requests in flight when it
    arrived: the slow-down of a shared processor. Each further token takes a gamma distributed time of mean ``gap_mean``
    and shape ``gap_shape``. Beyond ``slots`` answers at once, requests wait in the order of their arrival.
    """

    first_token_median: float = setting(0.87, 'Median time to the first token of a lone request.', low=0.0, high=600.0)
    first_token_sigma: float = setting(0.3, 'Standard deviation of its logarithm.', low=0.0, high=5.0)
    gap_mean: float = setting(0.05, 'Mean time between two tokens.', low=0.0, high=60.0)
    gap_shape: float = setting(4.0, 'Shape of its gamma distribution; 1: exponential.', low=0.01, high=1e6)
    deltas: int = setting(12, 'Pieces in which an answer comes at most; tokens are merged.', low=1, high=100_000)
    knee: float = setting(12.0, 'Requests in flight that double the time to the first token.', low=0.01, high=1e6)
    power: float = setting(0.7, 'How steeply it grows with them; below 1 the load always settles.', low=0.0, high=4.0)
    slots: int = setting(256, 'Answers at once; further requests queue.', low=1, high=1_000_000)
    rate_limit: float = setting(0.0, 'Requests/s beyond which HTTP 429 is answered; 0: no limit.', low=0.0, high=1e6)
    burst: int = setting(5, 'Requests at once that the rate limit lets pass.', low=1, high=1_000_000)
    outages: tuple[str, ...] = setting((), 'When nobody is answered: BEGIN-END, s since the cloud began.')
    outage_kind: str = setting(REFUSED, 'How: the connection is refused and those open break, or HTTP 503.',
                               choices=(REFUSED, UNAVAILABLE))
    error_share: float = setting(0.0, 'Share of requests that get HTTP 500.', low=0.0, high=1.0)
    drop_share: float = setting(0.0, 'Share of answers broken off midway.', low=0.0, high=1.0)
    stall_share: float = setting(0.0, 'Share of answers that fall silent midway.', low=0.0, high=1.0)
    refusal_delay: float = setting(0.05, 'Time in which an error is answered.', low=0.0, high=60.0)
    knows: float = setting(0.15, 'Share of meanings that the model knows without being shown them.', low=0.0, high=1.0)
    admits: float = setting(0.4, 'Share of the others where it says so; else it invents.', low=0.0, high=1.0)
    live_facts: bool = setting(True, 'It looks up what changes with time: prices, stock.')

    def __post_init__(self) -> None:
        for each in settings_of(type(self)):
            _told(each.checked, getattr(self, each.name))
        if self.error_share + self.drop_share + self.stall_share > 1.0:
            raise CloudError('error_share, drop_share and stall_share must not add up to more than 1.')
        for text in self.outages:
            Outage.read(text)

    @property
    def outage_times(self) -> tuple[Outage, ...]:
        """The outages in order."""
        return tuple(sorted((Outage.read(text) for text in self.outages), key=lambda each: each.begin))

    def changed(self, **values: object) -> CloudSettings:
        """A copy with some values replaced. Raises CloudError."""
        return _told(with_values, self, values)

    def read(self, path: Path) -> CloudSettings:
        """A copy with the values of a YAML (or JSON) file replaced. Raises CloudError naming the file."""
        try:
            fields = yaml.safe_load(path.read_text(encoding='utf-8'))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise CloudError(f'{path} cannot be read: {" ".join(str(error).split())}') from None
        if not isinstance(fields, dict):
            raise CloudError(f'{path} must map settings of the simulated cloud to values.')
        try:
            return self.changed(**{str(name): value for name, value in fields.items()})
        except CloudError as error:
            raise CloudError(f'{path}: {error}') from None

    def write(self, path: Path) -> None:
        """Write all values as YAML, for ``read``. Raises OSError."""
        fields = {name: list(value) if isinstance(value, tuple) else value
                  for name, value in dataclasses.asdict(self).items()}
        path.write_text(yaml.safe_dump(fields, sort_keys=False), encoding='utf-8')


def _told(check: Callable[P, T], *values: P.args, **named: P.kwargs) -> T:
    """The result of a check; what it refuses is told as an error of the cloud."""
    try:
        return check(*values, **named)
    except ConfigError as error:
        words = str(error).replace('Parameter', 'Cloud setting').replace('parameter', 'cloud setting')
        raise CloudError(words) from None
