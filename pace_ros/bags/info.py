"""What is in a bag: topics, conversations, turns."""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pace_ros.bags.exchanges import named
from pace_ros.bags.reading import Decoder
from pace_ros.bags.session import TURN, UTTERANCE
from pace_ros.bags.storage import Bag
from pace_ros.turn import Outcome
from pace_ros.turn import Path as Level


@dataclass(frozen=True)
class Topic:
    """One topic: ``count`` messages of it."""

    topic: str
    type: str
    count: int


@dataclass
class Conversation:
    """One visitor's session: final utterances, turns, and the turns by outcome and path."""

    utterances: int = 0
    turns: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    paths: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Info:
    """One bag. ``begin`` is in s since the epoch, ``duration`` in s, both 0 without messages; ``cut``: never ended."""

    path: str
    storage: str
    cut: bool
    begin: float
    duration: float
    messages: int
    topics: list[Topic]
    conversations: dict[str, Conversation]

    def as_json(self) -> dict[str, Any]:
        """The same as JSON types."""
        return {**vars(self), 'topics': [vars(each) for each in self.topics],
                'conversations': {name: vars(each) for name, each in self.conversations.items()}}


def describe(path: Path) -> Info:
    """Read a bag through and count; damaged messages are counted by topic only, with a warning. Raises BagError."""
    counts: Counter[tuple[str, str]] = Counter()
    conversations: dict[str, Conversation] = defaultdict(Conversation)
    begin, end = 0, 0
    decoder = Decoder(path)
    with Bag(path) as bag:
        counts.update({(each.topic, each.type): 0 for each in bag.channels})
        for raw in bag.messages():
            begin, end = begin or raw.time, max(end, raw.time)
            counts[raw.channel.topic, raw.channel.type] += 1
            if count := COUNTERS.get(raw.channel.type):
                decoder(raw, partial(count, conversations))
        return Info(
            path=str(path), storage=bag.storage, cut=bag.cut, begin=begin / 1e9, duration=(end - begin) / 1e9,
            messages=counts.total(), conversations=dict(sorted(conversations.items())),
            topics=[Topic(topic, kind, count) for (topic, kind), count in sorted(counts.items())],
        )


def _count_utterance(conversations: dict[str, Conversation], message: Any) -> None:
    conversations[named(message.conversation_id)].utterances += not message.partial


def _count_turn(conversations: dict[str, Conversation], message: Any) -> None:
    outcome, path = Outcome(message.outcome).name, Level(message.path).name
    conversation = conversations[named(message.conversation_id)]
    conversation.turns += 1
    conversation.outcomes[outcome] += 1
    conversation.paths[path] += 1


COUNTERS: dict[str, Callable[[dict[str, Conversation], Any], None]] = {
    UTTERANCE: _count_utterance, TURN: _count_turn,
}
