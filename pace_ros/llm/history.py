"""What was said before, as a prompt repeats it."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from pace_ros.retrieval import KnowledgeEntry


@dataclass(frozen=True)
class Exchange:
    """One finished turn as the model will be reminded of it.

    ``asked`` is the message the question was sent in, with ``entries``, the knowledge in it; empty where the model was
    not asked. ``number`` counts the visit's turns from 0. ``live``: the answer is not for others: of a live tool,
    of something done, or of such an answer.
    """

    question: str
    answer: str
    asked: str = field(default='', compare=False)
    entries: tuple[KnowledgeEntry, ...] = field(default=(), compare=False)
    number: int = field(default=0, compare=False)
    live: bool = field(default=False, compare=False)


def reminded(history: Sequence[Exchange], turns: int, *, in_blocks: bool) -> Sequence[Exchange]:
    """The latest ``turns`` exchanges. In blocks they are at least that many and fewer than twice as many, so that what
    the prompt begins with changes once in ``turns`` turns and not at every one.
    """
    if not turns or not history:
        return ()
    if not in_blocks:
        return history[-turns:]
    count = max(history[-1].number + 1, len(history))
    begin = max(0, (count - turns) // turns * turns)
    return history[-(count - begin):]


def as_it_stands(history: Sequence[Exchange], serves: Callable[[KnowledgeEntry], bool]) -> Sequence[Exchange]:
    """The history without knowledge that has changed or been withdrawn since: such a question is repeated alone."""
    return [
        each if all(map(serves, each.entries)) else replace(each, asked='', entries=())
        for each in history
    ]


def told(history: Sequence[Exchange]) -> list[KnowledgeEntry]:
    """The knowledge that stands in the history."""
    return [entry for each in history for entry in each.entries]
