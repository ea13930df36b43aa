"""What is remembered of each visitor, and for how long."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pace_ros.clock import Clock
from pace_ros.config import ConversationSettings
from pace_ros.embodiment.body_language import BodyMemory
from pace_ros.live_turn import LiveTurn
from pace_ros.llm import Exchange, new_visit
from pace_ros.retrieval import KnowledgeEntry

HISTORY_LIMIT = 100  # turns: as many as l2.history_turns can ask for, in blocks
SWEEP_PERIOD = 1.0  # s between looks at the conversations nobody asks for


@dataclass
class Conversation:
    """One visitor session. ``turn`` is the latest turn, ``last_used`` a monotonic time (s). ``visit`` is what it is
    called towards the language model: unlike ``conversation_id``, which the next visitor or another robot may have too,
    it is never used again.
    """

    conversation_id: str
    last_used: float
    history: list[Exchange] = field(default_factory=list)
    last_filler: str = ''
    body: BodyMemory = field(default_factory=BodyMemory)
    turn: LiveTurn | None = None
    visit: str = field(default_factory=new_visit)
    _finished: int = field(default=0, init=False)

    def remember(
        self, question: str, answer: str, *, asked: str = '', entries: tuple[KnowledgeEntry, ...] = (),
        live: bool = False,
    ) -> None:
        """Add a finished turn to the history; ``asked``, ``entries`` and ``live`` as Exchange's."""
        self.history.append(Exchange(question, answer, asked, entries, self._finished, live))
        self._finished += 1
        self.keep(HISTORY_LIMIT)

    def keep(self, turns: int) -> None:
        """Forget all but the latest turns of the history, as a prompt has no room for more."""
        del self.history[:max(0, len(self.history) - turns)]

    @property
    def busy(self) -> bool:
        """Whether its latest turn still runs or is still being spoken."""
        return self.turn is not None and not self.turn.silent


class Conversations:
    """Open conversations in order of use; the idle ones are forgotten, so no visitor inherits another's history.

    ``on_end`` is told the visit of every conversation that is forgotten.
    """

    def __init__(
        self, settings: Callable[[], ConversationSettings], clock: Clock,
        on_end: Callable[[str], None] = lambda _visit: None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._on_end = on_end
        self._open: OrderedDict[str, Conversation] = OrderedDict()
        self._expected: OrderedDict[str, tuple[str, float]] = OrderedDict()  # visits not open yet, and when last used
        self._swept = clock.monotonic()

    def __len__(self) -> int:
        """Conversations remembered."""
        return len(self._open)

    def of(self, conversation_id: str) -> Conversation:
        """The conversation of that id, a new one if it is unknown or was idle too long."""
        now = self._clock.monotonic()
        if now - self._swept >= SWEEP_PERIOD or self._is_idle(self._open.get(conversation_id), now):
            self.forget_idle()
        conversation = self._open.pop(conversation_id, None)
        if conversation is None:
            visit, _ = self._expected.pop(conversation_id, (new_visit(), now))
            conversation = Conversation(conversation_id, now, visit=visit)
        conversation.last_used = now
        self._open[conversation_id] = conversation
        if len(self._open) > self._settings().max_open:
            self._forget_oldest()
        return conversation

    def history_of(self, conversation_id: str) -> tuple[Exchange, ...]:
        """What was said before in a conversation that need not exist; it is neither opened nor used."""
        conversation = self._known(conversation_id)
        return tuple(conversation.history) if conversation is not None else ()

    def visit_of(self, conversation_id: str) -> str:
        """The visit of a conversation that need not exist: ``of`` will open it with this one. It is not opened."""
        conversation = self._known(conversation_id)
        if conversation is not None:
            return conversation.visit
        now = self._clock.monotonic()
        if self._is_over(conversation_id, now):
            self.forget_idle()
        visit, _ = self._expected.pop(conversation_id, (new_visit(), now))
        self._expected[conversation_id] = visit, now
        if len(self._expected) > self._settings().max_open:
            self._forget_expected(next(iter(self._expected)))
        return visit

    def end(self, conversation_id: str) -> Conversation | None:
        """Forget a conversation and return it, None if it is unknown."""
        self._forget_expected(conversation_id)
        return self._forget(conversation_id)

    def forget_idle(self) -> None:
        """Forget every conversation idle for longer than ``conversation.idle_timeout``."""
        now = self._swept = self._clock.monotonic()
        for each in list(self._open.values()):
            if self._is_idle(each, now):
                self._forget(each.conversation_id)
        for conversation_id in list(self._expected):
            if self._is_over(conversation_id, now):
                self._forget_expected(conversation_id)

    def forget_all(self) -> None:
        """Forget every conversation."""
        for conversation_id in list(self._open):
            self._forget(conversation_id)
        for conversation_id in list(self._expected):
            self._forget_expected(conversation_id)

    def _known(self, conversation_id: str) -> Conversation | None:
        """The conversation, unless it is about to be forgotten."""
        conversation = self._open.get(conversation_id)
        return None if self._is_idle(conversation, self._clock.monotonic()) else conversation

    def _forget(self, conversation_id: str) -> Conversation | None:
        conversation = self._open.pop(conversation_id, None)
        if conversation is not None:
            self._on_end(conversation.visit)
        return conversation

    def _forget_expected(self, conversation_id: str) -> None:
        visit, _ = self._expected.pop(conversation_id, ('', 0.0))
        if visit:
            self._on_end(visit)

    def _is_over(self, conversation_id: str, now: float) -> bool:
        """Whether a visit that was expected has not come for too long."""
        _, used = self._expected.get(conversation_id, ('', now))
        return now - used > self._settings().idle_timeout

    def _is_idle(self, conversation: Conversation | None, now: float) -> bool:
        if conversation is None or conversation.busy:
            return False
        return now - conversation.last_used > self._settings().idle_timeout

    def _forget_oldest(self) -> None:
        for each in list(self._open.values())[: -self._settings().max_open]:
            if not each.busy:
                self._forget(each.conversation_id)

    def __iter__(self) -> Iterator[Conversation]:
        return iter(list(self._open.values()))
