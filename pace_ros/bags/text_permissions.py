"""Whether the words on a topic may be kept: the robots there are asked, each for its own."""
from __future__ import annotations

import math
import threading
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace

from pace_ros.bags.session import COMMON

REPEAT, PERIOD = 0.5, 5.0  # s between questions to one that has not answered, and to one that has


@dataclass(frozen=True)
class Speaker:
    """A node that publishes turns: the namespaces it speaks in, and its publishers, by which a restart is known."""

    namespaces: frozenset[str]
    endpoints: frozenset[Hashable] = frozenset()


@dataclass(frozen=True)
class _Known:
    speaker: Speaker
    present: bool = True
    said: bool | None = None
    asked: float = -math.inf
    changed: float = -math.inf


class TextPermissions:
    """Whether words may be kept: as told (``keep``, ``omit``), or as the robots' nodes say (``auto``).

    A topic belongs to the robots of the nearest namespace around it; one in no robot's namespace, and those that all
    share, to all robots. A robot that has not answered keeps its words to itself. A topic in whose own namespace there
    is no robot may have one that is not discovered yet: its words are kept once it has been there for ``patience`` s.
    Times are monotonic (s). For any thread.
    """

    def __init__(self, mode: str, *, now: float, patience: float = 3.0) -> None:
        self._fixed: bool | None = {'keep': True, 'omit': False}.get(mode)
        self._patience = patience
        self._give_up = now + patience
        self._since: dict[str, float] = {}
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def note(self, topic: str, now: float) -> None:
        """Note that a topic is listened to from now on."""
        with self._lock:
            self._since.setdefault(topic, now)

    def look(self, present: Mapping[str, Speaker]) -> None:
        """Note which nodes speak, by full name, ``''`` for those whose name is not known yet.

        One that comes anew is asked anew; the last word of one that has gone holds.
        """
        with self._lock:
            known = {name: replace(each, present=False) for name, each in self._known.items() if name}
            for name, speaker in present.items():
                before = self._known.get(name)
                if before is None or not before.present or speaker.endpoints - before.speaker.endpoints:
                    known[name] = _Known(speaker)
                else:
                    known[name] = replace(before, speaker=speaker)
            self._known = known

    def due(self, now: float) -> list[str]:
        """The nodes to be asked now."""
        with self._lock:
            return [name for name, each in self._known.items() if name and each.present
                    and now >= each.asked + (REPEAT if each.said is None else PERIOD)]

    def asked(self, name: str, now: float) -> None:
        """Note that a node has been asked."""
        with self._lock:
            if name in self._known:
                self._known[name] = replace(self._known[name], asked=now)

    def answered(self, name: str, *, keep: bool, asked: float) -> None:
        """Note what a node says; an answer to a question older than its last change is none."""
        with self._lock:
            known = self._known.get(name)
            if known is not None and asked > known.changed:
                self._known[name] = replace(known, said=keep)

    def changed(self, name: str, *, keep: bool, now: float) -> None:
        """Note that a node says so of its own accord."""
        with self._lock:
            if name in self._known:
                self._known[name] = replace(self._known[name], said=keep, changed=now)

    def settled(self, now: float) -> bool:
        """Whether it is known what holds."""
        with self._lock:
            if self._fixed is not None:
                return True
            if self._silent() or not (self._known or now >= self._give_up):
                return False
            return all(self._owned(topic, now) for topic in self._since if topic not in COMMON)

    @property
    def silent(self) -> list[str]:
        """The nodes that have not said anything."""
        with self._lock:
            return self._silent()

    @property
    def withheld(self) -> bool:
        """Whether any words are left out."""
        with self._lock:
            return not (all(each.said for each in self._known.values()) if self._fixed is None else self._fixed)

    def keeps(self, topic: str, now: float) -> bool:
        """Whether the words on a topic may be kept now."""
        with self._lock:
            if self._fixed is not None:
                return self._fixed
            self._since.setdefault(topic, now)
            return self._owned(topic, now) and all(each.said for each in self._owners(topic))

    def _silent(self) -> list[str]:
        return [name for name, each in self._known.items() if each.present and each.said is None]

    def _owned(self, topic: str, now: float) -> bool:
        """Whether it is known whose a topic is."""
        own = topic.rpartition('/')[0]
        here = topic not in COMMON and any(own in each.speaker.namespaces for each in self._known.values())
        return here or now >= self._since[topic] + self._patience

    def _owners(self, topic: str) -> Iterable[_Known]:
        namespace = '' if topic in COMMON else topic
        while namespace:
            namespace = namespace.rpartition('/')[0]
            if found := [each for each in self._known.values() if namespace in each.speaker.namespaces]:
                return found
        return self._known.values()
