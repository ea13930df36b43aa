"""Two runs of the same utterances, turn by turn: what is not the same."""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pace_ros.turn import FrameKind, Outcome, Path

TOLERANCE = 0.1  # s
DECISIONS = ('filler_launched', 'filler_shown', 'volatile_query', 'stale_reject', 'scope')


@dataclass(frozen=True)
class Told:
    """What a turn comes to: ``frames`` as (kind, text) in order, ``decisions`` by field of ``Turn``, ``ptfr`` in s."""

    path: str
    outcome: str
    answer: str
    frames: tuple[tuple[str, str], ...]
    decisions: tuple[tuple[str, Any], ...]
    ptfr: float


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same in one turn; ``turn`` counts the utterances from 1. ``what`` is path, outcome,
    answer, frames, ptfr, a decision, or turn (there is none on one side).
    """

    turn: int
    what: str
    recorded: Any
    replayed: Any


def told(turn: Any, frames: Iterable[Any]) -> Told:
    """A turn from its message and those of its frames, in any order (of rosbags or of ROS)."""
    ordered = sorted((each for each in frames if each.turn_id == turn.turn_id), key=lambda each: each.seq)
    return Told(
        path=Path(turn.path).name,
        outcome=Outcome(turn.outcome).name,
        answer=turn.answer,
        frames=tuple((FrameKind(each.kind).name, each.text) for each in ordered),
        decisions=tuple((name, getattr(turn, name)) for name in DECISIONS if hasattr(turn, name)),
        ptfr=float(turn.ptfr),
    )


def differences(
    recorded: Sequence[Told | None], replayed: Sequence[Told | None], *, tolerance: float = TOLERANCE
) -> list[Difference]:
    """What differs between the turns of the same utterances, None where there was no turn.

    A turn that the recording does not have is nothing to compare with. PTFR differs beyond ``tolerance`` s, and where
    only one side has one.
    """
    found = []
    for number, (before, now) in enumerate(zip(recorded, replayed, strict=True), start=1):
        if before is None:
            continue
        if now is None:
            found.append(Difference(number, 'turn', before.outcome, None))
            continue
        pairs: list[tuple[str, Any, Any]] = [
            ('path', before.path, now.path),
            ('outcome', before.outcome, now.outcome),
            ('answer', before.answer, now.answer),
            ('frames', before.frames, now.frames),
        ]
        here = dict(now.decisions)
        pairs += [(name, value, here[name]) for name, value in before.decisions if name in here]
        found += [Difference(number, what, one, other) for what, one, other in pairs if one != other]
        if not _close(before.ptfr, now.ptfr, tolerance):
            found.append(Difference(number, 'ptfr', before.ptfr, now.ptfr))
    return found


def decisive(found: Iterable[Difference], *, durations: bool) -> bool:
    """Whether the runs are not the same; a PTFR beyond the tolerance counts only where ``durations`` do."""
    return any(durations or each.what != 'ptfr' for each in found)


def worded(difference: Difference) -> str:
    """One line for a terminal."""
    if difference.what == 'turn':
        return f'turn {difference.turn}: {difference.recorded} in the recording, no end of it in the replay'
    if difference.what == 'ptfr':
        change = difference.replayed - difference.recorded
        return (f'turn {difference.turn}: PTFR {_seconds(difference.recorded)} -> {_seconds(difference.replayed)}'
                + ('' if math.isnan(change) else f' ({change * 1e3:+.0f} ms)'))
    if difference.what == 'frames':
        return f'turn {difference.turn}: frames {_frames(difference.recorded)} -> {_frames(difference.replayed)}'
    return f'turn {difference.turn}: {difference.what} {difference.recorded!r} -> {difference.replayed!r}'


def _close(one: float, other: float, tolerance: float) -> bool:
    return math.isnan(one) == math.isnan(other) and not abs(one - other) > tolerance


def _seconds(value: float) -> str:
    return 'none' if math.isnan(value) else f'{value * 1e3:.0f} ms'


def _frames(frames: Sequence[tuple[str, str]]) -> str:
    return f'{len(frames)} (' + ' | '.join(f'{kind.lower()} {text[:24]!r}' for kind, text in frames[:4]) + (
        ' ...)' if len(frames) > 4 else ')')
