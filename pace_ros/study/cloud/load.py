"""What a simulated cloud settles at under a load, in closed form, and the settings that settle where they should."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from pace_ros.study.cloud.settings import CloudError, CloudSettings

MOST = 10_000.0  # requests in flight, beyond which a load counts as one that never settles


@dataclass(frozen=True)
class Steady:
    """``in_flight`` requests on average, of median time to the first token ``first_token`` and mean ``completion`` (s),
    at ``rate`` requests a second.
    """

    in_flight: float
    first_token: float
    completion: float
    rate: float


def steady(settings: CloudSettings, rate: float, tokens: float) -> Steady:
    """Where Poisson arrivals (``rate``/s) of answers of so many tokens settle, no slot or limit in the way.

    An arrival meets a Poisson number N of others (PASTA; exact where holding times do not depend on N), the mean of
    which is rate times completion (Little): the smallest fixed point is taken. Raises CloudError where there is none.
    """
    if _in_flight(settings, rate, tokens, 0.0) <= 0.0:
        return Steady(0.0, settings.first_token_median, _completion(settings, 0.0, tokens), rate)
    high = 1.0
    while _in_flight(settings, rate, tokens, high) > 0.0:
        high *= 1.5
        if high > MOST:
            raise CloudError(f'This cloud never settles at {rate:g} requests/s: they come faster than they end.')
    excess: Callable[[float], float] = lambda held: _in_flight(settings, rate, tokens, held)  # noqa: E731
    held = float(optimize.brentq(excess, 0.0, high))
    return Steady(held, settings.first_token_median * _slow_down(settings, held), _completion(settings, held, tokens),
                  rate)


def offered(settings: CloudSettings, concurrency: float, tokens: float) -> Steady:
    """Where an offered concurrency settles: its rate is that over the mean completion time of lone requests.

    Raises CloudError where it does not settle.
    """
    return steady(settings, concurrency / _completion(settings, 0.0, tokens), tokens)


def anchored(settings: CloudSettings, low: tuple[float, float], high: tuple[float, float],
             tokens: float) -> CloudSettings:
    """The settings with another median and knee, so that two offered concurrencies settle at two medians of the first
    token: ``low`` and ``high`` are (concurrency, s). Raises CloudError where no such settings exist.
    """
    def misses(logs: np.ndarray) -> list[float]:
        tried = settings.changed(first_token_median=math.exp(logs[0]), knee=math.exp(logs[1]))
        return [math.log(offered(tried, concurrency, tokens).first_token / wanted)
                for concurrency, wanted in (low, high)]

    try:
        found = optimize.root(misses, [math.log(low[1]), math.log(high[0])])
    except CloudError:
        found = None
    if found is None or not found.success:
        raise CloudError(f'No such cloud has {low[1]:g} s at c = {low[0]:g} and {high[1]:g} s at c = {high[0]:g}.')
    median, knee = (round(math.exp(value), 4) for value in found.x)
    return settings.changed(first_token_median=median, knee=knee)


def _slow_down(settings: CloudSettings, held: float) -> float:
    """The mean of 1 + (N / knee) ^ power over N Poisson of mean ``held``."""
    counts = np.arange(0, math.ceil(held + 10.0 * math.sqrt(held) + 20.0))
    chances = stats.poisson.pmf(counts, held)
    busy = np.where(counts > 0, (counts / settings.knee) ** settings.power, 0.0)
    return 1.0 + float(chances @ busy)


def _completion(settings: CloudSettings, held: float, tokens: float) -> float:
    mean = settings.first_token_median * math.exp(settings.first_token_sigma ** 2 / 2.0)
    return mean * _slow_down(settings, held) + max(0.0, tokens - 1.0) * settings.gap_mean


def _in_flight(settings: CloudSettings, rate: float, tokens: float, held: float) -> float:
    """By how many the requests in flight would exceed ``held`` if each met so many."""
    return rate * _completion(settings, held, tokens) - held
