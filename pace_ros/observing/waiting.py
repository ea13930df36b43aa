"""Commands that are waited for until they show or are given up."""
from __future__ import annotations

from abc import ABC, abstractmethod

from pace_ros.observing.command import Command, Observation, not_observed


class Waiting(ABC):
    """The commands of one channel that have not shown yet."""

    def __init__(self) -> None:
        self._pending: list[Command] = []

    def overdue(self, now: float) -> list[Command]:
        """Those pending at ``now`` (s, ROS time) whose deadline is past, whether or not the sensor was heard."""
        return [each for each in self._pending if now >= self._end(each)]

    def pending(self) -> list[Command]:
        """Every command that has not shown yet."""
        return list(self._pending)

    def give_up(self, commands: list[Command], why: str = '') -> list[Observation]:
        """Wait no longer for these; without a ``why`` it is found out."""
        self._pending = [each for each in self._pending if each not in commands]
        return [not_observed(each, why or self._reason(each)) for each in commands]

    def forget(self, why: str) -> list[Observation]:
        """Give up every command, and forget what came before."""
        self._forget()
        return self.give_up(self.pending(), why)

    @abstractmethod
    def _forget(self) -> None:
        """Forget all but the commands that are waited for."""

    @abstractmethod
    def _end(self, command: Command) -> float:
        """Until when it is waited for (s, ROS time)."""

    @abstractmethod
    def _reason(self, command: Command) -> str:
        """Why it has not shown by then."""
