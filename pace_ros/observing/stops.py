"""When turns were stopped: nothing that begins later is theirs."""
from __future__ import annotations

import math
from collections import OrderedDict

from pace_ros.observing.command import Command
from pace_ros.turn import Modality

KEPT = 1000  # turns


class Stops:
    """The instant (s, ROS time) at which each turn was stopped, by whatever tells it first."""

    def __init__(self, margin: float) -> None:
        self.margin = margin  # s
        self._turns: OrderedDict[str, tuple[float, str]] = OrderedDict()
        self._conversations: dict[str, tuple[str, float]] = {}  # its latest turn, and when its utterance was received
        self._rest = -math.inf

    def forget(self) -> None:
        """The clock was set back: no instant known means anything any more."""
        self._turns.clear()
        self._conversations.clear()
        self._rest = -math.inf

    def turn_stopped(self, turn_id: str, time: float, why: str) -> None:
        """The turn was pre-empted or cancelled, or its speech was cut off."""
        if turn_id not in self._turns or time < self._turns[turn_id][0]:
            self._turns[turn_id] = (time, why)
        while len(self._turns) > KEPT:
            self._turns.popitem(last=False)

    def commanded(self, command: Command) -> None:
        """The first command of a new turn stops the turn before it in the same conversation."""
        conversation, turn = command.onset.conversation_id, command.turn_id
        known = self._conversations.get(conversation)
        if known is None or command.receipt >= known[1]:
            if known is not None and known[0] != turn:
                self.turn_stopped(known[0], command.receipt, 'pre-empted')
            self._conversations[conversation] = (turn, command.receipt)
        elif known[0] != turn:
            self.turn_stopped(turn, known[1], 'pre-empted')

    def body_rests(self, time: float) -> None:
        """Whatever gesture was under way was broken off."""
        self._rest = time

    def of(self, command: Command) -> tuple[float, str]:
        """When the command was taken back (infinite: never), and why."""
        time, why = self._turns.get(command.turn_id, (math.inf, ''))
        if command.is_for(Modality.GESTURE) and command.stamp < self._rest < time:
            return self._rest, 'broken off'
        return time, why

    def excludes(self, command: Command, time: float) -> bool:
        """Whether something that begins at ``time`` cannot be the command's any more."""
        return time > self.of(command)[0] + self.margin
