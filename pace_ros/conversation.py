"""What is remembered of each visitor, and for how long."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pace_ros.clock import Clock
from pace_ros.config import ConversationSettings
from pace_ros.embodiment.body_language import BodyMemory
from pace_ros.live_turn import LiveTurn
from pace_ros.llm import Exchange

HISTORY_LIMIT = 50
SWEEP_PERIOD = 1.0  # s between looks at the conversations nobody asks for


@dataclass
class Conversation:
    """One visitor session. ``turn`` is the latest turn, ``last_used`` a monotonic time (s)."""

    conversation_id: str
    last_used: float
    history: list[Exchange] = field(default_factory=list)
    last_filler: str = ''
    body: BodyMemory = field(default_factory=BodyMemory)
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
        self._swept = clock.monotonic()

    def __len__(self) -> int:
        """Conversations remembered."""
        return len(self._open)

    def of(self, conversation_id: str) -> Conversation:
        """The conversation of that id, a new one if it is unknown or was idle too long."""
        now = self._clock.monotonic()
        if now - self._swept >= SWEEP_PERIOD or self._is_idle(self._open.get(conversation_id), now):
            self.forget_idle()
        conversation = self._open.pop(conversation_id, None) or Conversation(conversation_id, now)
        conversation.last_used = now
        self._open[conversation_id] = conversation
        if len(self._open) > self._settings().max_open:
            self._forget_oldest()
        return conversation

    def history_of(self, conversation_id: str) -> tuple[Exchange, ...]:
        """What was said before in a conversation that need not exist; it is neither opened nor used."""
        conversation = self._open.get(conversation_id)
        return tuple(conversation.history) if conversation is not None else ()

    def end(self, conversation_id: str) -> Conversation | None:
        """Forget a conversation and return it, None if it is unknown."""
        return self._open.pop(conversation_id, None)

    def forget_idle(self) -> None:
        """Forget every conversation idle for longer than ``conversation.idle_timeout``."""
        now = self._swept = self._clock.monotonic()
        for each in list(self._open.values()):
            if self._is_idle(each, now):
                del self._open[each.conversation_id]

    def _is_idle(self, conversation: Conversation | None, now: float) -> bool:
        if conversation is None or conversation.busy:
            return False
        return now - conversation.last_used > self._settings().idle_timeout

    def _forget_oldest(self) -> None:
        for each in list(self._open.values())[: -self._settings().max_open]:
            if not each.busy:
                del self._open[each.conversation_id]

    def __iter__(self) -> Iterator[Conversation]:
        return iter(list(self._open.values()))
