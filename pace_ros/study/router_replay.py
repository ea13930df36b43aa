"""A log through the router's own code, in virtual time: it is fed the recorded arrivals and first-token times.

Design section 5. One router observes; every turn is told the thresholds it would have had under each mode. What only
the live router saw is not in a log: probes, requests that a hedge or a speculation ended, the average kept over a
restart.
"""
from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pace_ros.clock import VirtualClock
from pace_ros.config import Config
from pace_ros.control import GateState, Router
from pace_ros.settings import with_values
from pace_ros.study.load_log import Session

MODES = ('gated', 'adaptive', 'static')
TRIGGERS = {'rate ratio': 'ratio', 'rate dispersion': 'dispersion', 'load step': 'step'}
_ARRIVAL, _SAMPLE, _BOUNDARY = 1, 2, 0  # order of what happens at one instant


@dataclass(frozen=True)
class Replay:
    """What a session would have been.

    ``turns``, one row a turn: at (s), load, ttft_ewma (s), arrival_rate (1/s), gate (STATIC or ADAPTIVE), counted, and
    theta_cache and theta_direct under each mode as theta_cache_gated and so on. ``windows``, one row a closed window:
    window (from 1), at (s, its close), count, span (s), rate (1/s), load, for each trigger its value and p (ratio,
    ratio_p, dispersion, dispersion_p, step, step_p; NaN where nothing was compared), fired (their names), gate from
    there on, quiet_windows, reason.
    """

    session: Session
    quiet_windows: int
    turns: pd.DataFrame
    windows: pd.DataFrame


def gate_config(
    config: Config | None = None, *, requests: int = 0, seconds: float = 60.0, literal: bool = False
) -> Config:
    """The settings of a replay: windows of so many requests, or if 0 of so many seconds; ``literal`` without the
    significance a trigger must have by default. Raises ConfigError.
    """
    values: dict[str, object] = {'gate.window': seconds, 'gate.window_requests': requests}
    return with_values(config or Config(), {**values, **({'gate.significance': 1.0} if literal else {})})


class _Replayer:
    """Plays one session. Windows by time are closed at their boundaries, as the node's timer does."""

    def __init__(self, session: Session, config: Config) -> None:
        self._session = session
        self._span = 0.0 if config.gate.window_requests else config.gate.window
        self._clock = VirtualClock()
        self._router = Router(lambda: config, self._clock)
        self._quiet_windows = config.gate.quiet_windows
        self._arrived, self._began = 0, 0.0
        self._turns: list[dict[str, object]] = []
        self._windows: list[dict[str, object]] = []

    def run(self) -> Replay:
        """Play it to its end; a window under way then stays open."""
        for at, kind, value in self._events():
            self._clock.advance(max(0.0, at - self._clock.monotonic()))
            if kind == _BOUNDARY:
                self._boundary()
            elif kind == _SAMPLE:
                self._router.observe_ttft(value)
            else:
                self._turn(bool(value))
        return Replay(self._session, self._quiet_windows, pd.DataFrame(self._turns), _window_frame(self._windows))

    def _events(self) -> Iterator[tuple[float, int, float]]:
        turns = self._session.turns
        arrivals = [(at, _ARRIVAL, float(instant))
                    for at, instant in zip(turns['at'], turns['path'].astype(str).isin(('L0', 'L1')), strict=True)]
        heard = turns.loc[turns['sample'].notna()].sort_values('sampled_at', kind='stable')
        samples = [(at, _SAMPLE, value) for at, value in zip(heard['sampled_at'], heard['sample'], strict=True)]
        end = max((each[0] for each in (*arrivals[-1:], *samples[-1:])), default=0.0)
        ends = range(1, math.floor(end / self._span) + 1) if self._span else ()
        return heapq.merge(((each * self._span, _BOUNDARY, 0.0) for each in ends), arrivals, samples)

    def _boundary(self) -> None:
        before = len(self._windows)
        self._note_close()
        while len(self._windows) == before:  # the clock's sum is a hair before the boundary
            self._clock.advance(1e-9)
            self._note_close()

    def _turn(self, instant: bool) -> None:
        self._arrived += 1  # it belongs to the window it completes
        self._router.observe_arrival()
        self._note_close()
        row: dict[str, object] = {'at': self._clock.monotonic()}
        for mode in MODES:
            decision = self._router.decide(mode)
            row[f'theta_cache_{mode}'], row[f'theta_direct_{mode}'] = decision.theta_cache, decision.theta_direct
        state = self._router.state()
        row |= {'load': decision.load_index, 'ttft_ewma': decision.ttft_ewma, 'arrival_rate': state.arrival_rate,
                'samples': state.ttft_samples, 'gate': _name(state.gate)}
        self._router.observe_path(instant=instant)
        self._turns.append(row)

    def _note_close(self) -> None:
        """Write down a window if the router has closed one."""
        state = self._router.state()
        if state.gate.windows == len(self._windows):
            return
        now = self._clock.monotonic()
        span = self._span or max(now - self._began, 1e-9)
        row: dict[str, object] = {
            'window': state.gate.windows, 'at': now, 'count': self._arrived, 'span': span,
            'rate': self._arrived / span, 'load': state.decision.load_index}
        found = {each.name: each for each in state.gate.triggers}
        for name, column in TRIGGERS.items():
            trigger = found.get(name)
            row[column], row[f'{column}_p'] = (trigger.value, trigger.p) if trigger else (math.nan, math.nan)
        row |= {'fired': ', '.join(each.name for each in state.gate.triggers if each.fired), 'gate': _name(state.gate),
                'quiet_windows': state.gate.quiet_windows, 'reason': state.gate.reason}
        self._windows.append(row)
        self._arrived, self._began = 0, now


def replay(session: Session, config: Config) -> Replay:
    """Feed a session to a router with these settings."""
    played = _Replayer(session, config).run()
    played.turns['counted'] = np.asarray(session.turns['counted'], dtype=bool)
    return played


def _name(state: GateState) -> str:
    return 'STATIC' if state.static else 'ADAPTIVE'


def _window_frame(rows: list[dict[str, object]]) -> pd.DataFrame:
    columns = ['window', 'at', 'count', 'span', 'rate', 'load',
               *(each for column in TRIGGERS.values() for each in (column, f'{column}_p')),
               'fired', 'gate', 'quiet_windows', 'reason']
    return pd.DataFrame(rows, columns=columns)
