"""A place for a turn: admitted, placed by the policy, entered into the ledger; or it waits, or is refused."""
from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import anyio

from pace_ros.clock import Clock
from pace_ros.serving.admission import SOON, Admission, Verdict
from pace_ros.serving.conversations import Conversation
from pace_ros.serving.fleet import AdmissionSettings
from pace_ros.serving.ledger import Account, Ledger
from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn
from pace_ros.serving.replica_state import ReplicaState

LOOK_AGAIN = 0.25  # s: arrivals leave the window with time alone


class Refused(RuntimeError):
    """A turn that does not come in; ``retry_after`` s, infinite where it never will."""

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


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
    """Takes and gives back seats. Turns that find none wait in the order in which they came."""

    def __init__(
        self, states: Mapping[str, ReplicaState], ledger: Ledger, policy: Policy, settings: AdmissionSettings,
        clock: Clock, *, hands_over: bool,
    ) -> None:
        self._states = states
        self._ledger = ledger
        self._policy = policy
        self._settings = settings
        self._clock = clock
        self._hands_over = hands_over
        self.admission = Admission(settings, clock)
        self.waiting = 0
        self._changed = anyio.Event()

    def views(self, conversation: Conversation, without: Collection[str] = ()) -> list[ReplicaView]:
        """The replicas that are well, as a policy sees them."""
        views = []
        for name, state in self._states.items():
            if state.well and name not in without:
                account = self._ledger.account(conversation.key, name)
                views.append(state.view(self._ledger, held=account.held if account else 0,
                                        hands_over=self._hands_over))
        return views

    async def take(self, conversation: Conversation, turn: Turn, without: Collection[str] = ()) -> Seat:
        """A seat, as soon as there is one. Raises Refused."""
        until = self._clock.monotonic() + self._settings.wait
        with contextlib.ExitStack() as stack:
            queued = False
            while True:
                found = self._try(conversation, turn, without)
                if isinstance(found, Seat):
                    return found
                left = until - self._clock.monotonic()
                if left <= 0 or math.isinf(found.retry_after):
                    raise Refused(found.reason, found.retry_after)
                if not queued:
                    if self.waiting >= self._settings.waiting:
                        raise Refused(f'{found.reason}, and {self.waiting} turns are waiting', found.retry_after)
                    stack.enter_context(self._queued())
                    queued = True
                changed = self._changed
                with anyio.move_on_after(min(left, LOOK_AGAIN)):
                    await changed.wait()

    def changed(self) -> None:
        """Something became free: who waits looks again."""
        self._changed.set()
        self._changed = anyio.Event()

    @contextlib.contextmanager
    def _queued(self) -> Iterator[None]:
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1

    def _try(self, conversation: Conversation, turn: Turn, without: Collection[str]) -> Seat | Verdict:
        views = self.views(conversation, without)
        home = conversation.home.replica if conversation.home is not None else None
        if home not in {each.name for each in views}:
            home = None
        held = max((each.held for each in views), default=0)
        to_read = max(1, turn.prompt - held)
        verdict = self.admission.verdict(turn, to_read, views, known=home is not None)
        if not verdict.admitted:
            return verdict
        placement = self._policy.place(turn, views, home)
        seat = None if placement is None else self._enter(conversation, turn, placement)
        if seat is None:
            return Verdict(admitted=False, reason='there is no room in any KV cache', retry_after=SOON)
        self.admission.admit(to_read)
        return seat

    def _enter(self, conversation: Conversation, turn: Turn, placement: Placement) -> Seat | None:
        """Into the ledger, all or nothing."""
        account = self._ledger.account(conversation.key, placement.decode)
        fresh = account is None
        if account is None:
            account = self._ledger.open(conversation.key, placement.decode, turn.tokens)
        elif not self._ledger.reserve(account, max(0, turn.tokens - account.held)):
            account = None
        if account is None:
            return None
        source = None
        if placement.prefill != placement.decode:
            source = self._ledger.open(conversation.key, placement.prefill, turn.prompt)
            if source is None:
                if fresh:
                    self._ledger.close(account)
                else:
                    self._ledger.settle(account, account.held)
                return None
        return Seat(placement, account, source, account.slot if placement.stays or source is not None else None)
