"""The onsets of one joint's motions, from its positions."""
from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import Enum

import numpy as np

from pace_ros.clock import BACKWARDS
from pace_ros.observing.bend import bend_at
from pace_ros.observing.rise import perceptible_at
from pace_ros.observing.settings import Motion

WINDOW = 0.065  # s over which a speed is taken
LEAST = 4  # samples in it, where they come slowly
KEPT = 0.6  # s of samples kept: rest before a motion and its beginning
MIN_INTERVAL = 0.0035  # s; more than 250 samples a second tell nothing new
MAX_GAP = 0.25  # s; what happened in a longer one is not known
REST_TIME = 0.08  # s of quiet that make a rest
# A rise is fitted once the joint has gone so far (rad) and so many times its noise, in so many samples beyond the
# noise, or when this time (s) is over.
RISE = 0.01
RISE_SIGMAS = 20.0
RISE_SAMPLES = 3
RISE_TIME = 0.15
CERTAIN = 4.0  # times the noise: a smaller displacement is none
NOISE_SAMPLES = 200
FEW_SAMPLES = 20
TO_SIGMA = 1.4826  # a median of absolute deviations to a standard deviation


class Start(Enum):
    """What a joint did before the onset."""

    REST = 'from rest'
    REVERSAL = 'reversed'
    SPEED_UP = 'sped up again'


@dataclass(frozen=True)
class MotionOnset:
    """One joint begins to move perceptibly: ``time`` (s) of its positions' clock, ``speed`` (rad/s) when detected.

    A joint that was in motion was steered otherwise from ``bent`` (s) on, NaN if it was at rest: its new motion has
    begun then, unless it was slowing down by itself.
    """

    joint: str
    time: float
    speed: float
    start: Start
    bent: float = math.nan

    def since(self, moment: float) -> float:
        """The onset as the effect of something that cannot have shown before ``moment`` (s)."""
        return self.bent if moment <= self.bent < self.time else self.time


class _State(Enum):
    REST = 0
    RISING = 1  # a motion has begun whose onset is not fitted yet
    MOVING = 2


class JointMotion:
    """A detector with hysteresis that ignores velocities it is told: positions are the truth.

    The speed is the slope of a line through the samples of the last ``WINDOW``. Motion out of rest is declared where
    it exceeds both the perceptible speed and a multiple of the joint's noise, the median absolute speed while at rest;
    its onset is then fitted (``rise.py``). In a motion an onset is a reversal, or a distinct speeding up after slowing
    down. Steady slow drift counts as noise.
    """

    def __init__(self, joint: str, settings: Motion) -> None:
        self.joint = joint
        self._settings = settings
        self._noise: deque[float] = deque(maxlen=NOISE_SAMPLES)
        self._floor = 0.0  # rad/s
        self._since_floor = 0
        self._moved: deque[tuple[float, float]] = deque(maxlen=64)  # begin and end of past motions
        self._restart()

    def forget(self) -> None:
        """The clock was set back: forget what moved when, not how noisy the joint is."""
        self._restart()
        self._moved.clear()

    def _restart(self) -> None:
        self._raw: deque[tuple[float, float]] = deque(maxlen=3)
        self._times: deque[float] = deque()
        self._positions: deque[float] = deque()
        self._speeds: deque[tuple[float, float]] = deque()
        self._state = _State.REST
        self._rest_since, self._exceeding = -math.inf, 0
        self._quiet_since = self._declared = self._began = math.nan
        self._direction = 1.0
        self._peak = 0.0
        self._trough = (math.nan, math.inf)  # when and how slow the joint was after its peak speed

    @property
    def high(self) -> float:
        """Speed above which a motion is declared (rad/s)."""
        return max(self._settings.min_speed, self._settings.noise_factor * self._floor)

    @property
    def low(self) -> float:
        """Speed below which the joint is quiet (rad/s)."""
        return max(0.5 * self._settings.min_speed, 2.0 * self._floor)

    def moving_at(self, time: float) -> bool:
        """Whether the joint was in motion then, as far as is known."""
        current = not math.isnan(self._began) and self._began <= time
        return current or any(begin <= time <= end for begin, end in self._moved)

    def update(self, time: float, position: float) -> MotionOnset | None:
        """Take one sample (s, rad) and return the onset it completes, if any.

        A position that is not finite and a stamp not younger than the last one are passed over.
        """
        if not (math.isfinite(position) and math.isfinite(time)):
            return None
        if self._raw:
            step = time - self._raw[-1][0]
            if step < -BACKWARDS:
                self.forget()
            elif step > MAX_GAP:
                self._finish(self._raw[-1][0])
                self._restart()
            elif step < MIN_INTERVAL:
                return None
        if self._raw:
            position += math.tau * round((self._raw[-1][1] - position) / math.tau)
        self._raw.append((time, position))
        if len(self._raw) < 3:
            return None
        # The median of three takes single glitches out and leaves a steady motion as it is.
        self._times.append(self._raw[1][0])
        self._positions.append(sorted(each for _, each in self._raw)[1])
        while self._times[-1] - self._times[0] > KEPT:
            self._times.popleft()
            self._positions.popleft()
        return self._judged() if len(self._times) >= LEAST else None

    def _judged(self) -> MotionOnset | None:
        speed = self._slope()
        if self._state is _State.REST:
            self._at_rest(speed)
            return None
        if self._state is _State.RISING:
            return self._rising(speed)
        return self._moving(speed)

    def _slope(self) -> float:
        """The speed now; it is filed under the middle of its window, where it holds."""
        end = self._times[-1]
        count = 0
        for time in reversed(self._times):
            if end - time > WINDOW and count >= LEAST:
                break
            count += 1
        first = len(self._times) - count
        moments = [self._times[index] - end for index in range(first, len(self._times))]
        mean = sum(moments) / count
        variance = sum((each - mean) ** 2 for each in moments)
        speed = sum(
            (each - mean) * self._positions[first + index] for index, each in enumerate(moments)
        ) / variance
        self._speeds.append((end + mean, speed))
        while self._speeds[-1][0] - self._speeds[0][0] > KEPT:
            self._speeds.popleft()
        return speed

    # -- out of rest ------------------------------------------------------------------------------------------------

    def _at_rest(self, speed: float) -> None:
        known = len(self._noise) >= FEW_SAMPLES
        if not known or abs(speed) <= self.high:
            self._exceeding = 0
            self._learn(abs(speed))
            return
        self._exceeding += 1
        if self._exceeding >= 2:
            self._state, self._direction = _State.RISING, math.copysign(1.0, speed)
            self._declared = self._times[-1]

    def _learn(self, speed: float) -> None:
        self._noise.append(speed)
        self._since_floor += 1
        if self._since_floor >= 10 or len(self._noise) <= FEW_SAMPLES:
            self._floor = TO_SIGMA * float(np.median(self._noise))
            self._since_floor = 0

    def _rising(self, speed: float) -> MotionOnset | None:
        rest, sigma = self._rest()
        displacement = self._direction * (self._positions[-1] - rest)
        over = self._times[-1] - self._declared >= RISE_TIME
        risen = displacement >= max(RISE, RISE_SIGMAS * sigma) and self._risen(rest, sigma) >= RISE_SAMPLES
        if not risen and not over and self._direction * speed > self.low:
            return None
        self._exceeding = 0
        if displacement < CERTAIN * sigma or displacement <= 0.0:
            self._state = _State.REST
            return None
        begin = max(self._rest_since, self._declared - 0.3)
        kept = [index for index, time in enumerate(self._times) if time >= begin]
        onset = perceptible_at(
            np.array([self._times[index] for index in kept]), np.array([self._positions[index] for index in kept]),
            self._declared, self._settings.min_speed,
        )
        return self._moves(onset, speed, Start.REST)

    def _risen(self, rest: float, sigma: float) -> int:
        """How many of the last samples lie beyond the noise."""
        count = 0
        for position in reversed(self._positions):
            if self._direction * (position - rest) <= CERTAIN * sigma:
                break
            count += 1
        return count

    def _rest(self) -> tuple[float, float]:
        """Position and noise (rad) while still at rest."""
        until = self._declared - WINDOW
        still = [x for t, x in zip(self._times, self._positions, strict=True) if self._rest_since <= t <= until]
        still = still or [self._positions[0]]
        middle = float(np.median(still))
        return middle, TO_SIGMA * float(np.median([abs(each - middle) for each in still]))

    # -- in motion --------------------------------------------------------------------------------------------------

    def _moves(self, onset: float, speed: float, start: Start, bent: float = math.nan) -> MotionOnset:
        if math.isnan(self._began):
            self._began = onset
        self._state = _State.MOVING
        self._direction = math.copysign(1.0, speed)
        self._peak, self._trough = abs(speed), (math.nan, math.inf)
        self._exceeding, self._quiet_since = 0, math.nan
        return MotionOnset(self.joint, onset, speed, start, bent)

    def _moving(self, speed: float) -> MotionOnset | None:
        now = self._speeds[-1][0]
        ahead = self._direction * speed
        if abs(speed) < self.low:
            self._quiet_since = now if math.isnan(self._quiet_since) else self._quiet_since
            if now - self._quiet_since >= REST_TIME:
                self._comes_to_rest()
                return None
        else:
            self._quiet_since = math.nan
        if ahead > self._peak:
            self._peak, self._trough = ahead, (math.nan, math.inf)
        elif ahead < self._trough[1]:
            self._trough = (now, ahead)
        return self._reversed(speed, -ahead) or self._sped_up(speed, ahead)

    def _reversed(self, speed: float, back: float) -> MotionOnset | None:
        self._exceeding = self._exceeding + 1 if back > self.high else 0
        if self._exceeding < 2:
            return None
        onset = self._crossing(-self._direction, self._settings.min_speed)
        fast = self._crossing(-self._direction, -0.6 * self._peak)  # it had this speed left
        return self._moves(onset, speed, Start.REVERSAL, self._bend(onset - (onset - fast) / 0.6))

    def _sped_up(self, speed: float, ahead: float) -> MotionOnset | None:
        when, trough = self._trough
        trough = max(trough, 0.0)
        if math.isnan(when) or trough > 0.5 * self._peak or ahead < trough + max(2.0 * self.high, 0.25 * self._peak):
            return None
        onset = self._crossing(self._direction, trough + self._settings.min_speed)
        return self._moves(onset, speed, Start.SPEED_UP, self._bend(when))

    def _bend(self, about: float) -> float:
        """When the joint was steered otherwise, somewhere near this instant, in the motion it is in."""
        begin = max(about - 0.08, self._began)
        kept = [index for index, time in enumerate(self._times) if time >= begin]
        return bend_at(
            np.array([self._times[index] for index in kept]), np.array([self._positions[index] for index in kept])
        )

    def _crossing(self, direction: float, level: float) -> float:
        """When the speed in a direction last rose through a level, between two of its values."""
        later = self._speeds[-1]
        for earlier in reversed(self._speeds):
            before, after = direction * earlier[1], direction * later[1]
            if before <= level < after:
                return earlier[0] + (later[0] - earlier[0]) * (level - before) / (after - before)
            later = earlier
        return later[0]

    def _comes_to_rest(self) -> None:
        self._finish(self._quiet_since)
        self._state, self._rest_since, self._exceeding = _State.REST, self._quiet_since, 0

    def _finish(self, time: float) -> None:
        if not math.isnan(self._began):
            self._moved.append((self._began, time))
        self._began = math.nan
