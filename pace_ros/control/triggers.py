"""What keeps the gate open: three triggers, each with its probability under steady load (design section 5)."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

from pace_ros.config import Gate


@dataclass(frozen=True)
class Window:
    """What happened in one window: arrivals in ``span`` s, and the load index at its close."""

    count: int
    span: float
    load: float

    @property
    def rate(self) -> float:
        """Arrivals a second."""
        return self.count / self.span


@dataclass(frozen=True)
class Trigger:
    """One comparison at the close of a window: ``value`` against the law's limit, and its p-value.

    ``p`` is the probability of a value at least as extreme while load is steady; it is computed where the literal
    limit is passed, and 1 elsewhere.
    """

    name: str
    value: float
    p: float
    fired: bool

    def __str__(self) -> str:
        return f'{self.name} {self.value:.3g}, p {self.p:.2g}'


def rate_ratio(window: Window, before: Window, settings: Gate) -> Trigger:
    """r_w / r_{w-1} outside [1/ratio, ratio]; 0/0 counts as 1, x/0 as infinite.

    p is the two-sided conditional binomial: of all arrivals in both windows each falls into one of them in proportion
    to its length.
    """
    nothing_before = math.inf if window.rate > 0 else 1.0
    value = window.rate / before.rate if before.rate > 0 else nothing_before
    literal = _beyond(value, settings.ratio) or (value > 0 and _beyond(1.0 / value, settings.ratio)) or value == 0
    return _trigger('rate ratio', value, literal, ratio_p(window, before), settings)


def ratio_p(window: Window, before: Window) -> float:
    """The probability of two counts as unlike as these under one common rate."""
    total, share = window.count + before.count, window.span / (window.span + before.span)
    below = special.bdtr(window.count, total, share)
    above = special.bdtrc(window.count - 1, total, share) if window.count else 1.0
    return min(1.0, 2.0 * float(min(below, above)))


def rate_dispersion(windows: Sequence[Window], settings: Gate) -> Trigger:
    """F_w: population standard deviation over mean of the rates; 0 if the mean is 0. Needs two windows at least.

    p is the upper tail of the index of dispersion: sum (n - E n)^2 / E n is chi-squared with k - 1 degrees of freedom
    for k Poisson counts.
    """
    mean = sum(each.rate for each in windows) / len(windows)
    if mean == 0 or len(windows) < 2:
        return Trigger('rate dispersion', 0.0, 1.0, fired=False)
    value = math.sqrt(sum((each.rate - mean) ** 2 for each in windows) / len(windows)) / mean
    pooled = sum(each.count for each in windows) / sum(each.span for each in windows)
    index = sum((each.count - pooled * each.span) ** 2 / (pooled * each.span) for each in windows)
    p = float(special.chdtrc(len(windows) - 1, index))
    return _trigger('rate dispersion', value, _beyond(value, settings.dispersion), p, settings)


def load_step(window: Window, before: Window, p_ttft: float, settings: Gate) -> Trigger:
    """|lambda_w - lambda_{w-1}| above ``load_step``.

    Load moves with first-token times or with arrivals. ``p_ttft`` is the smaller of two probabilities of the former
    under their measured scatter, the rate ratio's is that of the latter; p is the smallest of the three, tripled for
    having looked three times.
    """
    value = abs(window.load - before.load)
    p = min(1.0, 3.0 * min(p_ttft, ratio_p(window, before)))
    return _trigger('load step', value, _beyond(value, settings.load_step), p, settings)


def _beyond(value: float, limit: float) -> bool:
    """Above the limit by more than rounding: 0.3 - 0.25 is a hair above 0.05."""
    return value > limit + 1e-9


def _trigger(name: str, value: float, literal: bool, p: float, settings: Gate) -> Trigger:
    """Fire beyond the limit, if that is also improbable; at significance 1 everything is improbable enough."""
    return Trigger(name, value, p if literal else 1.0, fired=literal and p <= settings.significance)
