"""What a replica is made of: how fast it works, how much it draws, how much of a prompt it reads at once."""
from __future__ import annotations

import dataclasses

from pace_ros.serving.simulator.costs import Costs
from pace_ros.settings import ConfigError

WHOLE = 1 << 40  # tokens: no prompt is longer


@dataclasses.dataclass(frozen=True)
class Power:
    """W by what a replica does; a cache that is saved or restored counts as answering."""

    idle: float = 0.0
    prefill: float = 0.0
    decode: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.idle <= min(self.prefill, self.decode):
            raise ConfigError(f'A replica cannot draw {self.idle} W idle, {self.prefill} W reading and {self.decode} W '
                              'answering: idle draws least, and nothing less than none.')


@dataclasses.dataclass(frozen=True)
class Hardware:
    """``chunk``: prompt tokens that a step reads at most; the streams wait for the whole of it. ``prefix_cache``: any
    prefix that was read there lately is found again, as engines that page their caches find it; without it a slot has
    what it held last, as with llama.cpp.
    """

    costs: Costs = dataclasses.field(default_factory=Costs)
    power: Power = dataclasses.field(default_factory=Power)
    chunk: int = WHOLE
    prefix_cache: bool = False

    def __post_init__(self) -> None:
        if self.chunk < 1:
            raise ConfigError(f'A step must read one prompt token at least, not {self.chunk}.')


@dataclasses.dataclass(frozen=True)
class PowerLaw:
    """How speed follows a power limit: ``(limit / full) ** exponent``. An assumption, not a measurement: reading is
    bound by computing and slows down, answering by memory, whose clock a limit hardly touches.
    """

    prefill: float = 0.5
    decode: float = 0.1


def limited(hardware: Hardware, watts: float, law: PowerLaw = PowerLaw()) -> Hardware:
    """The same hardware under a power limit, W; what draws less than that is as it was.

    Raises ConfigError for a limit that idling exceeds.
    """
    power, costs = hardware.power, hardware.costs
    if watts <= power.idle:
        raise ConfigError(f'A limit of {watts} W is not above the {power.idle} W that idling draws.')
    slower = {'prefill': max(1.0, (power.prefill / watts) ** law.prefill),
              'decode': max(1.0, (power.decode / watts) ** law.decode)}
    times = {name: getattr(costs, name) * slower[kind] for name, kind in _BOUND.items()}
    return dataclasses.replace(
        hardware, costs=dataclasses.replace(costs, **times),
        power=Power(power.idle, min(power.prefill, watts), min(power.decode, watts)),
    )


_BOUND = {'prefill_base': 'prefill', 'prefill_token': 'prefill', 'attend': 'prefill',
          'decode_base': 'decode', 'decode_stream': 'decode', 'decode_token': 'decode'}
