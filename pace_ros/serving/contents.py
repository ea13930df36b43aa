"""The prompts whose tokens must be in the replicas' slots: by them a server that lost some of them is found out."""
from __future__ import annotations

from array import array
from collections.abc import Sequence

from pace_ros.serving.ledger import Account


class Contents:
    """The last prompt of each conversation that was read to its end, by replica and slot. A client that has changed its
    history finds less in its slot than was held there, and nothing is amiss; what the two prompts share must be there.
    """

    def __init__(self) -> None:
        self._read: dict[tuple[str, int], tuple[str, array[int]]] = {}

    def put(self, account: Account, prompt: Sequence[int]) -> None:
        """A prompt was read into the slot of this account."""
        self._read[account.replica, account.slot] = account.conversation, array('l', prompt)

    def known(self, account: Account) -> int:
        """Tokens that must be there."""
        return len(self._of(account))

    def shared(self, account: Account, prompt: Sequence[int]) -> int:
        """Tokens of this prompt that must be there; the last one of a prompt is read in any case."""
        before = self._of(account)
        pairs = enumerate(zip(before, prompt, strict=False))
        same = next((at for at, (old, new) in pairs if old != new), min(len(before), len(prompt)))
        return max(0, min(same, len(prompt) - 1))

    def to_read(self, account: Account, prompt: Sequence[int]) -> int:
        """Tokens that are likely to be read: the answer before is there as well if the prompt goes on from it."""
        shared = self.shared(account, prompt)
        goes_on = 0 < self.known(account) <= shared
        return len(prompt) - min(max(shared, account.held) if goes_on else shared, len(prompt) - 1)

    def forget(self, account: Account) -> None:
        """Nothing is known of its slot any more."""
        if self._of(account):
            del self._read[account.replica, account.slot]

    def drop(self, replica: str) -> None:
        """All that was on this replica is lost."""
        for key in [key for key in self._read if key[0] == replica]:
            del self._read[key]

    def _of(self, account: Account) -> array[int]:
        conversation, prompt = self._read.get((account.replica, account.slot), ('', array('l')))
        return prompt if conversation == account.conversation else array('l')
