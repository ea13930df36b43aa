"""The contexts that are really on a replica, whatever the ledger says."""
from __future__ import annotations

from collections import OrderedDict


class Caches:
    """Tokens by conversation. A context that has an account is safe (``owned``); of the others that is lost first which
    has been unused for longest, and nobody is told.
    """

    def __init__(self) -> None:
        self._owned: dict[str, int] = {}
        self.unowned: OrderedDict[str, int] = OrderedDict()

    def found(self, conversation: str) -> int:
        """Tokens of a conversation that are there."""
        return self._owned.get(conversation) or self.unowned.get(conversation, 0)

    def put(self, conversation: str, tokens: int, *, owned: bool) -> None:
        """So many are there now."""
        self.erase(conversation)
        (self._owned if owned else self.unowned)[conversation] = tokens

    def claim(self, conversation: str) -> None:
        """It has an account now; what is left over of it is used again."""
        if conversation in self.unowned:
            self._owned[conversation] = self.unowned.pop(conversation)

    def release(self, conversation: str) -> None:
        """It has no account any more; it stays as long as nobody needs its room."""
        if conversation in self._owned:
            self.unowned[conversation] = self._owned.pop(conversation)

    def erase(self, conversation: str) -> None:
        """It is there no more."""
        self._owned.pop(conversation, None)
        self.unowned.pop(conversation, None)

    def shrink(self, tokens: int, slots: int) -> None:
        """Lose what is longest unused until those without an account need no more than so many tokens and slots."""
        spare = sum(self.unowned.values())
        while self.unowned and (spare > tokens or len(self.unowned) > slots):
            spare -= self.unowned.popitem(last=False)[1]
