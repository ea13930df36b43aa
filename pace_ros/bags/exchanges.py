"""What visitors said in a recording and how each turn ended."""
from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

DEFAULT_CONVERSATION = 'default'
RACE = 0.5  # s by which a recorder may hear two topics in the wrong order


@dataclass(frozen=True)
class Input:
    """Something the robot was given, at ``time`` (s); ``number`` is its place among the inputs of the recording.

    Of an utterance ``conversation`` and ``utterance_id`` are known (both may be empty), and it is ``final`` unless it
    is a partial hypothesis. Of anything else ``conversation`` is None.
    """

    number: int
    time: float
    conversation: str | None = None
    utterance_id: str = ''
    final: bool = False


@dataclass(frozen=True)
class End:
    """The end of a turn and of its speech, at ``time`` (s); ``preempted`` by the visitor, or not; None: not known."""

    time: float
    conversation: str
    utterance_id: str
    preempted: bool | None = None


@dataclass(frozen=True)
class Exchange:
    """A final utterance and where it led: the end of its turn (s, None: not recorded) and that end's place."""

    said: Input
    ended: float | None = None
    end: int | None = None


def named(conversation: str) -> str:
    """The name under which the node keeps a conversation."""
    return conversation or DEFAULT_CONVERSATION


def exchanges(inputs: Sequence[Input], ends: Sequence[End]) -> list[Exchange]:
    """Each final utterance with the end of its turn, both in order of time.

    Turns are found by utterance id; an utterance without one was given its id by the node, so it gets the first end of
    its conversation after it that belongs to no other.
    """
    finals = [each for each in inputs if each.final]
    by_id: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, end in enumerate(ends):
        by_id[named(end.conversation), end.utterance_id].append(place)
    found: dict[int, int] = {}
    for said in finals:
        places = by_id.get((named(said.conversation or ''), said.utterance_id)) if said.utterance_id else None
        if places:
            found[said.number] = places.pop(0)
    free: dict[str, list[int]] = defaultdict(list)
    taken = set(found.values())
    ids = {(named(each.conversation or ''), each.utterance_id) for each in finals if each.utterance_id}
    for place, end in enumerate(ends):
        if place not in taken and (named(end.conversation), end.utterance_id) not in ids:
            free[named(end.conversation)].append(place)
    for said in finals:
        if not said.utterance_id:
            places = free[named(said.conversation or '')]
            later = bisect.bisect_left([ends[place].time for place in places], said.time)
            if later < len(places):
                found[said.number] = places.pop(later)
    return [
        Exchange(said, _untangled(said, ends[found[said.number]], inputs), found[said.number])
        if said.number in found else Exchange(said) for said in finals
    ]


def _untangled(said: Input, end: End, inputs: Sequence[Input]) -> float:
    """When a turn ended, seen from what the visitor did.

    A recorder may hear the end of a turn before the words that pre-empted it, or the words that followed an end before
    it: the outcome tells which came first.
    """
    if end.preempted is None:
        return end.time
    begin = bisect.bisect_right([each.number for each in inputs], said.number)
    own, later = named(end.conversation), inputs[begin:]
    following = next((each for each in later if each.final and named(each.conversation or '') == own), None)
    if not end.preempted:
        return end.time if following is None else min(end.time, following.time)
    if following is None or following.time > end.time + RACE:  # it was voice activity, then
        following = next((each for each in later if each.conversation is None
                          and end.time <= each.time <= end.time + RACE), None)
    return end.time if following is None else max(end.time, math.nextafter(following.time, math.inf))


def identified(inputs: Sequence[Input]) -> list[Input]:
    """The same inputs, every final utterance with an id by which its turn can be known again."""
    return [
        replace(each, utterance_id=f'replay-{each.number}') if each.final and not each.utterance_id else each
        for each in inputs
    ]
