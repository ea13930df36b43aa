"""What the robot was told to show, and what became of it."""
from __future__ import annotations

import math
from dataclasses import dataclass

from pace_ros.turn import Content, Modality, Onset, Source


@dataclass(frozen=True)
class Command:
    """A commanded onset; ``stamp`` (s) is its instant in ROS time, ``heard`` that of its arrival on a steady clock."""

    onset: Onset
    stamp: float
    heard: float

    @property
    def receipt(self) -> float:
        """When the utterance was received (s, ROS time): t = 0 of the turn."""
        return self.stamp - self.onset.elapsed

    @property
    def due(self) -> float:
        """When it should show (s, ROS time): a sound when it is audible, a motion at once."""
        return self.stamp if math.isnan(self.onset.audible) else self.receipt + self.onset.audible

    @property
    def turn_id(self) -> str:
        """Whose command it is."""
        return self.onset.turn_id

    def is_for(self, modality: Modality, content: Content | None = None) -> bool:
        """Whether it commands this modality (and content)."""
        return self.onset.modality is modality and content in (None, self.onset.content)


@dataclass(frozen=True)
class Observation:
    """An observed onset and its instant (s, ROS time); one not observed has the command's instant and elapsed NaN."""

    onset: Onset
    stamp: float


def observed(command: Command, time: float, detail: str) -> Observation:
    """The command showed at ``time`` (s, ROS time)."""
    return _observation(command, time - command.receipt, time, detail)


def not_observed(command: Command, why: str) -> Observation:
    """The command did not show, or it cannot be said that it did."""
    return _observation(command, math.nan, command.stamp, f'not observed: {why}')


def _observation(command: Command, elapsed: float, stamp: float, detail: str) -> Observation:
    told = command.onset
    onset = Onset(
        told.turn_id, told.conversation_id, told.modality, told.content, elapsed, source=Source.OBSERVED, detail=detail
    )
    return Observation(onset, stamp)
