"""Puts the pieces of streamed tool calls together."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.llm.tools.call import CallDelta, ToolCall, is_object

MOST_CALLS = 16  # of one answer; what a runaway model adds is dropped
LONGEST_ARGUMENTS = 20_000  # characters of one call


@dataclass
class _Draft:
    index: int | None
    call_id: str
    name: str = ''
    arguments: str = ''


class CallAssembler:
    """Takes deltas in order and gives whole calls.

    A call is known by its index. Where a server sends none, or the same one for every call, another id begins another
    call. Some repeat id and name in every piece, some send an id of nothing.
    """

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []

    def feed(self, deltas: tuple[CallDelta, ...]) -> None:
        """Take the pieces of one chunk."""
        for delta in deltas:
            draft = self._draft_of(delta)
            if draft is None:
                continue
            if delta.name and delta.name != draft.name and not draft.arguments:
                draft.name += delta.name
            room = LONGEST_ARGUMENTS - len(draft.arguments)
            draft.arguments += delta.arguments[:room]

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls in the order in which they began; the id is empty where the server gave none."""
        return tuple(
            ToolCall(draft.call_id, draft.name, draft.arguments)
            for draft in self._drafts if draft.name or draft.arguments
        )

    def _draft_of(self, delta: CallDelta) -> _Draft | None:
        """The call this piece belongs to, a new one if need be, None if there are too many."""
        draft = self._known(delta)
        if draft is None and len(self._drafts) < MOST_CALLS:
            draft = _Draft(delta.index, delta.call_id)
            self._drafts.append(draft)
        if draft is not None:
            draft.call_id = draft.call_id or delta.call_id
        return draft

    def _known(self, delta: CallDelta) -> _Draft | None:
        """The latest call of this index, unless id, name or the end of its arguments say that this is another."""
        same = [each for each in self._drafts if delta.index is None or each.index == delta.index]
        if not same:
            return None
        latest = same[-1]
        if delta.call_id and latest.call_id:
            return next((each for each in same if each.call_id == delta.call_id), None)
        return None if delta.name and is_object(latest.arguments) else latest
