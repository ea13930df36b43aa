"""What is really in a replica's slots, whatever the ledger says."""
from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pace_ros.serving.simulator.script import Script

ALIKE = 0.1  # of a prompt must be in a slot before llama.cpp chooses that slot for it


def runs(numbers: Iterable[int]) -> int:
    """How many runs of consecutive numbers there are; the number of a slot comes once."""
    those = set(numbers)
    return sum(each - 1 not in those for each in those)


@dataclass
class _Content:
    script: Script
    tokens: int
    used: int


class Slots:
    """Each holds what was last read or restored into it, until something else is; numbered from 0, none used yet.

    ``paged``: tokens are found whichever slot they are in.
    """

    def __init__(self, *, paged: bool = False) -> None:
        self._paged = paged
        self._contents: dict[int, _Content] = {}
        self._uses = 0
        self._tokens = 0

    @property
    def tokens(self) -> int:
        """In all slots together."""
        return self._tokens

    def found(self, slot: int, script: Script) -> int:
        """Tokens with which the conversation begins and that are in this slot."""
        if self._paged:
            return max((self._shared(each, script) for each in self._contents), default=0)
        return self._shared(slot, script)

    def _shared(self, slot: int, script: Script) -> int:
        content = self._contents.get(slot)
        if content is None:
            return 0
        if content.script.key == script.key:
            return content.tokens
        return min(content.tokens, content.script.in_common(script))

    def put(self, slot: int, script: Script, tokens: int) -> None:
        """It holds so many of this conversation now, and nothing else."""
        self.erase(slot)
        self._uses += 1
        self._contents[slot] = _Content(script, tokens, self._uses)
        self._tokens += tokens

    def erase(self, slot: int) -> None:
        """Nothing is in it any more."""
        content = self._contents.pop(slot, None)
        if content is not None:
            self._tokens -= content.tokens

    def choose(self, slot: int, script: Script, prompt: int, idle: Collection[int]) -> None:
        """The server chooses among idle slots, as llama.cpp does: that which holds most of the prompt, else the one
        unused for longest. ``slot``, an idle one, is its number from now on: they change places.
        """
        best = max(sorted(idle), key=lambda each: self._shared(each, script))
        own = best in self._contents and self._contents[best].script.key == script.key
        if self._shared(best, script) <= ALIKE * prompt or (self._paged and not own):
            best = min(sorted(idle), key=self._used)
        here, there = self._contents.pop(slot, None), self._contents.pop(best, None)
        if best == slot:
            there, here = here, None
        self._contents |= {number: each for number, each in ((slot, there), (best, here)) if each is not None}

    def shrink(self, tokens: int, idle: Collection[int]) -> None:
        """Lose what is longest unused until all idle slots together hold no more than so many tokens."""
        held = sorted((each for each in idle if each in self._contents), key=self._used)
        spare = sum(self._contents[each].tokens for each in held)
        for each in held:
            if spare <= tokens:
                return
            spare -= self._contents[each].tokens
            self.erase(each)

    def _used(self, slot: int) -> int:
        content = self._contents.get(slot)
        return content.used if content is not None else 0
