"""The gateway's own account of the KV caches: servers evict silently, and none says how full it is."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pace_ros.serving.fleet import Replica


@dataclass
class Account:
    """What a conversation has on a replica: ``held`` tokens are in its slot, ``reserved`` more may come."""

    conversation: str
    replica: str
    slot: int
    held: int = 0
    reserved: int = 0

    @property
    def tokens(self) -> int:
        """Held and reserved."""
        return self.held + self.reserved


class LedgerError(RuntimeError):
    """An entry that would make the ledger wrong: a mistake of the caller's, not of the fleet's."""


class Ledger:
    """Accounts by conversation and replica; a slot belongs to one account at most, and a replica never overflows."""

    def __init__(self, replicas: Iterable[Replica]) -> None:
        self._replicas = {each.name: each for each in replicas}
        self._accounts: dict[tuple[str, str], Account] = {}

    def open(self, conversation: str, replica: str, tokens: int) -> Account | None:
        """Take a free slot and reserve ``tokens`` in it; None where there is no slot, or not so much room.

        Raises LedgerError for a conversation that is there already.
        """
        if (conversation, replica) in self._accounts:
            raise LedgerError(f'{conversation} has an account on {replica}')
        slot = self.free_slot(replica)
        if slot is None or tokens > min(self.free(replica), self._replicas[replica].context):
            return None
        account = Account(conversation, replica, slot, reserved=tokens)
        self._accounts[conversation, replica] = account
        return account

    def reserve(self, account: Account, tokens: int) -> bool:
        """Reserve so many more tokens than are held, for a turn; False where there is no room, then nothing changes.

        Raises LedgerError for an account that is closed.
        """
        self._check(account)
        more = tokens - account.reserved
        if more > self.free(account.replica) or account.held + tokens > self._replicas[account.replica].context:
            return False
        account.reserved = tokens
        return True

    def settle(self, account: Account, held: int) -> None:
        """A turn has ended: so many tokens are in the slot, nothing is reserved. Raises LedgerError."""
        self._check(account)
        account.held, account.reserved = held, 0

    def close(self, account: Account) -> None:
        """The slot is free again. Closing what is closed does nothing."""
        if self._accounts.get((account.conversation, account.replica)) is account:
            del self._accounts[account.conversation, account.replica]

    def drop(self, replica: str) -> list[Account]:
        """A replica has died, and its caches with it; the accounts that were there."""
        lost = [each for each in self._accounts.values() if each.replica == replica]
        for each in lost:
            self.close(each)
        return lost

    def account(self, conversation: str, replica: str) -> Account | None:
        """What a conversation has on a replica, if anything."""
        return self._accounts.get((conversation, replica))

    def accounts(self, replica: str | None = None) -> list[Account]:
        """All accounts, or those on a replica."""
        return [each for each in self._accounts.values() if replica in (None, each.replica)]

    def held(self, replica: str) -> int:
        """Tokens in the slots of a replica."""
        return sum(each.held for each in self.accounts(replica))

    def reserved(self, replica: str) -> int:
        """Tokens that turns under way may add there."""
        return sum(each.reserved for each in self.accounts(replica))

    def free(self, replica: str) -> int:
        """Tokens neither held nor reserved."""
        return self._replicas[replica].capacity - self.held(replica) - self.reserved(replica)

    def free_slots(self, replica: str) -> int:
        """Slots without an account."""
        return self._replicas[replica].slots - len(self.accounts(replica))

    def free_slot(self, replica: str) -> int | None:
        """The first slot without an account."""
        taken = {each.slot for each in self.accounts(replica)}
        return next((slot for slot in range(self._replicas[replica].slots) if slot not in taken), None)

    def occupancy(self, replica: str) -> float:
        """Held and reserved over the capacity."""
        return 1.0 - self.free(replica) / self._replicas[replica].capacity

    def _check(self, account: Account) -> None:
        if self._accounts.get((account.conversation, account.replica)) is not account:
            raise LedgerError(f'{account.conversation} has no open account on {account.replica}')
