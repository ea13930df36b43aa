"""What is remembered of each visitor, and for how long."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pace_ros.clock import Clock
from pace_ros.config import ConversationSettings
from pace_ros.live_turn import LiveTurn
from pace_ros.llm import Exchange

HISTORY_LIMIT = 50


@dataclass
class Conversation:
    """One visitor session. ``turn`` is the latest turn, ``last_used`` a monotonic time (s)."""

    conversation_id: str
    last_used: float
    history: list[Exchange] = field(default_factory=list)
    last_filler: str = ''
    turn: LiveTurn | None = None

    def remember(self, question: str, answer: str) -> None:
        """Add a finished turn to the history."""
        self.history.append(Exchange(question, answer))
        del self.history[:-HISTORY_LIMIT]

    @property
    def busy(self) -> bool:
        """Whether its latest turn still runs or is still being spoken."""
        return self.turn is not None and not self.turn.silent


class Conversations:
    """Open conversations in order of use; the idle ones are forgotten, so no visitor inherits another's history."""

    def __init__(self, settings: Callable[[], ConversationSettings], clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._open: OrderedDict[str, Conversation] = OrderedDict()

    def __len__(self) -> int:
        """Conversations remembered."""
        return len(self._open)

    def of(self, conversation_id: str) -> Conversation:
        """The conversation of that id, a new one if it is unknown or was idle too long."""
        self.forget_idle()
        now = self._clock.monotonic()
        conversation = self._open.pop(conversation_id, None) or Conversation(conversation_id, now)
        conversation.last_used = now
        self._open[conversation_id] = conversation
        for each in list(self._open.values())[: -self._settings().max_open]:
            if not each.busy:
                del self._open[each.conversation_id]
        return conversation

    def end(self, conversation_id: str) -> Conversation | None:
        """Forget a conversation and return it, None if it is unknown."""
        return self._open.pop(conversation_id, None)

    def forget_idle(self) -> None:
        """Forget every conversation idle for longer than ``conversation.idle_timeout``."""
        horizon = self._clock.monotonic() - self._settings().idle_timeout
        for each in list(self._open.values()):
            if each.last_used >= horizon:
                break
            if not each.busy:
                del self._open[each.conversation_id]

    def __iter__(self) -> Iterator[Conversation]:
        return iter(list(self._open.values()))
