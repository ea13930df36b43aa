"""A place for a turn: admitted, placed by the policy, entered into the ledger; or it waits, or is refused."""
from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pace_ros.clock import Clock
from pace_ros.serving.admission import SOON, Admission, Verdict, all_taken, readers
from pace_ros.serving.conversations import Conversation
from pace_ros.serving.fleet import AdmissionSettings
from pace_ros.serving.ledger import Account, Ledger
from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn
from pace_ros.serving.replica_state import ReplicaState
from pace_ros.serving.waiting_line import WaitingLine

LOOK_AGAIN = 0.25  # s: prompts that were let in are read as time passes, without a word
OTHERS_FIRST = Verdict(admitted=False, reason='others wait for room', retry_after=SOON)
TOO_LARGE, FULL, OUTAGE = 413, 429, 503


class Refused(RuntimeError):
    """A turn that does not come in; ``retry_after`` s, infinite where it never will. ``status`` is HTTP's: 413 where it
    never will, 503 where nobody is well who could take it, else 429.
    """

    def __init__(self, reason: str, retry_after: float, *, outage: bool = False) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.status = TOO_LARGE if math.isinf(retry_after) else OUTAGE if outage else FULL

    @classmethod
    def by(cls, verdict: Verdict, *, at_least: float = 0.0, more: str = '') -> Refused:
        """As admission says; a client is asked to wait ``at_least`` s."""
        return cls(f'{verdict.reason}{more}', max(verdict.retry_after, at_least), outage=verdict.outage)


@dataclass(frozen=True)
class Seat:
    """Where a turn is answered, on which account; ``source``: where its prompt is read before. ``slot`` None leaves it
    to the server, where nothing is expected in it.
    """

    placement: Placement
    account: Account
    source: Account | None
    slot: int | None


class Seating:
    """Takes and gives back seats. Turns of conversations that live nowhere and find no room wait in the order in which
    they came; those that a lost replica has unseated go before them, and were let in once. Who lives somewhere needs
    no slot, and waits behind nobody.

    ``make_room`` has a conversation give up its slot on one of the replicas named, and says whether there was one that
    could; ``frees``: when the first slot becomes free by itself, s from now.
    """

    def __init__(
        self, states: Mapping[str, ReplicaState], ledger: Ledger, policy: Policy, settings: AdmissionSettings,
        clock: Clock, *, hands_over: bool, make_room: Callable[[Collection[str]], Awaitable[bool]] | None = None,
        frees: Callable[[], float] | None = None,
    ) -> None:
        self._states = states
        self._ledger = ledger
        self._policy = policy
        self._settings = settings
        self._clock = clock
        self._hands_over = hands_over
        self._make_room = make_room
        self._frees = frees
        self._line = WaitingLine()
        self._waiting_at_home = WaitingLine()
        self.admission = Admission(settings, clock)

    @property
    def waiting(self) -> int:
        """Turns that wait."""
        return len(self._line) + len(self._waiting_at_home)

    def views(self, conversation: Conversation, without: Collection[str] = ()) -> list[ReplicaView]:
        """The replicas that are well, as a policy sees them."""
        views = []
        for name, state in self._states.items():
            if state.well and name not in without:
                account = self._ledger.account(conversation.key, name)
                views.append(state.view(self._ledger, held=account.held if account else 0,
                                        hands_over=self._hands_over))
        return views

    def check_line(self, conversation: Conversation) -> None:
        """Before a turn costs anything. Raises Refused for one that would have to wait where as many wait as may."""
        if self._home(conversation, ()) is None and 0 < self.waiting >= self._settings.waiting:
            raise Refused.by(OTHERS_FIRST, more=self._more())

    async def take(
        self, conversation: Conversation, turn: Turn, without: Collection[str] = (), *, again: bool = False,
        until: float = math.inf,
    ) -> Seat:
        """A seat, as soon as there is one, before ``until`` (monotonic, s); ``without`` the replicas that have just
        failed this turn. One that comes ``again``, as those do, has been let in and stands before the others.

        Raises Refused.
        """
        again = again or bool(without)
        if (never := self._never(conversation, turn)) is not None:
            raise Refused.by(never)
        own, until = until, min(until, self._clock.monotonic() + self._settings.wait)
        line = self._line if self._home(conversation, without) is None else self._waiting_at_home
        found: Seat | Verdict = OTHERS_FIRST
        if line is self._waiting_at_home or again or not len(line):
            room_until = until if self._settings.wait > 0.0 else own  # to make room is not to wait for it
            found = await self._looked(conversation, turn, without, again=again, until=room_until)
        if isinstance(found, Seat):
            return found
        if self._settings.wait <= 0.0:
            raise Refused.by(found)
        if self.waiting >= self._settings.waiting:
            raise Refused.by(found, more=self._more())
        verdict = found
        with line.place(again=again) as place:
            while (left := until - self._clock.monotonic()) > 0:
                await line.wait(min(left, LOOK_AGAIN))
                if line is self._waiting_at_home or line.is_first(place):
                    found = await self._looked(conversation, turn, without, again=again, until=until)
                    if isinstance(found, Seat):
                        return found
                    verdict = found
        raise Refused.by(verdict, at_least=self._settings.wait)

    def changed(self) -> None:
        """Something became free: who waits looks again."""
        self._waiting_at_home.changed()
        self._line.changed()

    def _more(self) -> str:
        return f', and {self.waiting} turns are waiting'

    def _home(self, conversation: Conversation, without: Collection[str]) -> str | None:
        """Where it lives, if its account still stands, and there is reason to go there."""
        home = conversation.home
        if home is None or not self._ledger.is_open(home):
            return None
        return home.replica if self._states[home.replica].well and home.replica not in without else None

    def _never(self, conversation: Conversation, turn: Turn) -> Verdict | None:
        """Where a turn has outgrown its home (nothing migrates), or every replica, those that are lost included."""
        home = self._home(conversation, ())
        at = [self._states[home]] if home and self._policy.settles else [*self._states.values()]
        contexts = [each.replica.context for each in at if self._policy.answers(decodes=each.replica.decodes)]
        largest = max(contexts, default=0)
        if turn.tokens <= largest:
            return None
        return Verdict(admitted=False, reason=f'{turn.tokens} tokens are more than a context of {largest}',
                       retry_after=math.inf)

    async def _looked(
        self, conversation: Conversation, turn: Turn, without: Collection[str], *, again: bool, until: float
    ) -> Seat | Verdict:
        """The same as ``look``, after others have made room if that helps; nobody has to after ``until``."""
        found = self.look(conversation, turn, without, again=again)
        while isinstance(found, Verdict) and found.no_slot and self._clock.monotonic() < until:
            if not await self._roomier(conversation, without):
                break
            found = self.look(conversation, turn, without, again=again)
        if isinstance(found, Verdict) and found.no_slot and self._frees is not None:
            return replace(found, retry_after=max(SOON, self._frees()))
        return found

    async def _roomier(self, conversation: Conversation, without: Collection[str]) -> bool:
        """Whether somebody has given up a slot where this one may go."""
        views = self._policy.seen(self.views(conversation, without))
        return self._make_room is not None and await self._make_room({each.name for each in views if each.decodes})

    def look(
        self, conversation: Conversation, turn: Turn, without: Collection[str] = (), *, again: bool = False
    ) -> Seat | Verdict:
        """A seat now, or why there is none; an infinite ``retry_after``: there never will be."""
        if (never := self._never(conversation, turn)) is not None:
            return never
        views = self._policy.seen(self.views(conversation, without))
        home = self._home(conversation, without)
        settled = home is not None or again or bool(without)
        to_read = max(1, turn.prompt - max((each.held for each in views), default=0))
        verdict = self.admission.verdict(turn, to_read, views, known=settled)
        if math.isinf(verdict.retry_after):
            return Verdict(admitted=False, reason='no replica with so long a context is well', retry_after=SOON,
                           outage=True)
        if not verdict.admitted:
            return verdict
        placement = self._policy.place(turn, views if settled else self.admission.open_to_new(views), home)
        seat = None if placement is None else self._enter(conversation, turn, placement)
        if seat is None:
            return Verdict(admitted=False, reason='there is no room in any KV cache', retry_after=SOON,
                           no_slot=home is None and all_taken(views))
        self._policy.placed(turn, seat.placement)
        self._meter(turn, seat.placement, views)
        return seat

    def _meter(self, turn: Turn, placement: Placement, views: Sequence[ReplicaView]) -> None:
        """What a prefiller will read counts as arrived."""
        for each in readers(views):
            if each.name == placement.prefill:
                self.admission.admit(max(1, turn.prompt - each.held))

    def _enter(self, conversation: Conversation, turn: Turn, placement: Placement) -> Seat | None:
        """Into the ledger, all or nothing."""
        fresh = self._ledger.account(conversation.key, placement.decode) is None
        account = self._reserved(conversation, placement.decode, turn.tokens)
        if account is None:
            return None
        source = None
        if placement.prefill != placement.decode:
            source = self._reserved(conversation, placement.prefill, turn.prompt)
            if source is None:
                if fresh:
                    self._ledger.close(account)
                else:
                    self._ledger.settle(account, account.held)
                return None
        return Seat(placement, account, source, account.slot if placement.stays or source is not None else None)

    def _reserved(self, conversation: Conversation, replica: str, tokens: int) -> Account | None:
        """Room for so many tokens in all: in the slot that the conversation has there, else in a free one."""
        account = self._ledger.account(conversation.key, replica)
        if account is None:
            return self._ledger.open(conversation.key, replica, tokens)
        return account if self._ledger.reserve(account, max(0, tokens - account.held)) else None
