"""The steady-state gate on showroom floors: how much of a steady day is STATIC, and how soon a slow cloud opens it.

    scripts/campaign.sh gate [DAYS]

In virtual time through the real router: Poisson arrivals, first-token times lognormal with a sigma of 0.5. Steady: two
hours, 40 % of the turns go to L2, median 1.8 s; counted from the eleventh window on, under the default significance and
under the literal rule. Slow: three hours at a median of 1.2 s, then two at a longer one, a third of the turns to L2.
"""
from __future__ import annotations

import math
import random
import statistics
import sys
from collections.abc import Callable

from pace_ros.clock import VirtualClock
from pace_ros.config import Config
from pace_ros.control import Router, RouterState
from pace_ros.settings import with_values

DAYS = 200
RATES = (30, 60, 120, 600)  # turns an hour
SIGMA, MINUTE, HOUR = 0.5, 60.0, 3600.0


def play(
    config: Config, rate: float, hours: float, share: float, median: Callable[[float], float], seed: int
) -> list[tuple[float, RouterState]]:
    """A floor for some hours; returns the router's state at every full minute."""
    clock, chance = VirtualClock(), random.Random(seed)
    router = Router(lambda: config, clock)
    states: list[tuple[float, RouterState]] = []
    arrival = chance.expovariate(rate / HOUR)
    for minute in range(1, round(hours * HOUR / MINUTE) + 1):
        while arrival < minute * MINUTE:
            clock.advance(arrival - clock.monotonic())
            router.observe_arrival()
            if chance.random() < share:
                router.observe_ttft(chance.lognormvariate(math.log(median(arrival)), SIGMA))
            arrival += chance.expovariate(rate / HOUR)
        clock.advance(minute * MINUTE - clock.monotonic())
        states.append((clock.monotonic(), router.state()))
    return states


def static_share(config: Config, rate: float, seed: int) -> float:
    """The STATIC share of a steady floor from its eleventh window on."""
    states = play(config, rate, 2.0, 0.4, lambda _: 1.8, seed)[10:]
    return sum(state.gate.static for _, state in states) / len(states)


def opened_after(rate: float, slow: float, seed: int) -> float:
    """Minutes from the slowdown until the gate opens, infinite if it does not within two hours."""
    states = play(Config(), rate, 5.0, 1 / 3, lambda at: 1.2 if at < 3 * HOUR else slow, seed)
    after = (at - 3 * HOUR for at, state in states if at > 3 * HOUR and not state.gate.static)
    return next(after, math.inf) / MINUTE


def main() -> None:
    """Print both tables."""
    days = int(sys.argv[1]) if len(sys.argv) > 1 else DAYS
    literal = with_values(Config(), {'gate.significance': 1.0})
    print(f'STATIC share of a steady floor, {days} days\nturns/h   literal   default')
    for rate in RATES:
        shares = [statistics.mean(static_share(config, rate, seed) for seed in range(days))
                  for config in (literal, Config())]
        print(f'{rate:7} {shares[0]:9.1%} {shares[1]:9.1%}', flush=True)
    print(f'\nA cloud that becomes slow, default, {days} days: opened within 2 h, median minutes where it did')
    print('turns/h   1.2 -> 2.4 s     1.2 -> 3.6 s     1.2 -> 6.0 s')
    for rate in RATES:
        cells = []
        for slow in (2.4, 3.6, 6.0):
            found = [wait for seed in range(days) if math.isfinite(wait := opened_after(rate, slow, seed))]
            cells.append(f'{len(found) / days:6.0%} {statistics.median(found) if found else math.nan:5.0f} min')
        print(f'{rate:7}   ' + '     '.join(cells), flush=True)


if __name__ == '__main__':
    main()
