"""An outlet nobody listens to."""
from __future__ import annotations

from pace_ros.turn import Onset, ResponseFrame, SpeechState, TurnRecord


class Silence:
    """Takes everything a turn tells the world and passes nothing on: the record alone is wanted."""

    def frame(self, frame: ResponseFrame) -> None:
        """Drop a frame."""

    def onset(self, onset: Onset) -> None:
        """Drop an onset."""

    def turn(self, record: TurnRecord) -> None:
        """Drop a record."""

    def speech(self, state: SpeechState) -> None:
        """Drop a state of speech."""

    def look_at_speaker(self) -> None:
        """Do not move."""

    def look_aside(self, side: float, up: float) -> None:
        """Do not move."""

    def gesture(self, turn_id: str, name: str) -> None:
        """Do not move."""

    def rest(self) -> None:
        """Do not move."""
