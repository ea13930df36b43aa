"""The gateway's own account of the KV caches: servers evict silently, and none says how full it is."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pace_ros.serving.fleet import Replica


@dataclass
class Account:
    """What a conversation has on a replica: ``held`` tokens are in its slot, ``reserved`` more may come.

    The ledger alone changes it.
    """

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
    """Accounts by conversation and replica; a slot belongs to one account at most, and nothing is reserved beyond a
    replica's capacity or a slot's context.
    """

    def __init__(self, replicas: Iterable[Replica]) -> None:
        self._replicas = {each.name: each for each in replicas}
        self._accounts: dict[str, dict[str, Account]] = {name: {} for name in self._replicas}
        self._used = dict.fromkeys(self._replicas, 0)

    def open(self, conversation: str, replica: str, tokens: int) -> Account | None:
        """Take a free slot and reserve ``tokens`` in it; None where there is no slot, or not so much room.

        Raises LedgerError for a conversation that is there already, and for a negative number.
        """
        if conversation in self._accounts[replica]:
            raise LedgerError(f'{conversation} has an account on {replica}')
        _check_number(tokens)
        slot = self.free_slot(replica)
        if slot is None or tokens > min(self.free(replica), self._replicas[replica].context):
            return None
        account = self._accounts[replica][conversation] = Account(conversation, replica, slot)
        self._write(account, held=0, reserved=tokens)
        return account

    def reserve(self, account: Account, tokens: int) -> bool:
        """Reserve so many more tokens than are held, for a turn; False where there is no room, then nothing changes.

        Raises LedgerError for an account that is closed, and for a negative number.
        """
        self._check(account)
        _check_number(tokens)
        more = tokens - account.reserved
        if more > self.free(account.replica) or account.held + tokens > self._replicas[account.replica].context:
            return False
        self._write(account, held=account.held, reserved=tokens)
        return True

    def empty(self, account: Account) -> None:
        """What was held is lost or overwritten; the room stays reserved for the turn under way. Raises LedgerError."""
        self._check(account)
        self._write(account, held=0, reserved=account.tokens)

    def fill(self, account: Account, held: int) -> None:
        """So many tokens are in the slot now, out of what was reserved for them. Raises LedgerError."""
        self._check(account)
        held = self._within(account, held)
        self._write(account, held=held, reserved=max(0, account.tokens - held))

    def settle(self, account: Account, held: int) -> None:
        """A turn has ended: so many tokens are in the slot, nothing is reserved. Raises LedgerError.

        It is an observation, so it counts even where it is more than was reserved; a slot never holds more than its
        context.
        """
        self._check(account)
        self._write(account, held=self._within(account, held), reserved=0)

    def close(self, account: Account) -> None:
        """The slot is free again. Closing what is closed does nothing."""
        if self.is_open(account):
            del self._accounts[account.replica][account.conversation]
            self._used[account.replica] -= account.tokens

    def drop(self, replica: str) -> list[Account]:
        """A replica has died, and its caches with it; the accounts that were there."""
        lost = self.accounts(replica)
        self._accounts[replica].clear()
        self._used[replica] = 0
        return lost

    def is_open(self, account: Account) -> bool:
        """Whether it has not been closed or dropped."""
        return self._accounts[account.replica].get(account.conversation) is account

    def account(self, conversation: str, replica: str) -> Account | None:
        """What a conversation has on a replica, if anything."""
        return self._accounts[replica].get(conversation)

    def accounts(self, replica: str | None = None) -> list[Account]:
        """All accounts, or those on a replica."""
        if replica is not None:
            return [*self._accounts[replica].values()]
        return [account for accounts in self._accounts.values() for account in accounts.values()]

    def held(self, replica: str) -> int:
        """Tokens in the slots of a replica."""
        return sum(each.held for each in self._accounts[replica].values())

    def reserved(self, replica: str) -> int:
        """Tokens that turns under way may add there."""
        return sum(each.reserved for each in self._accounts[replica].values())

    def free(self, replica: str) -> int:
        """Tokens neither held nor reserved; negative where a server holds more than was reserved for it."""
        return self._replicas[replica].capacity - self._used[replica]

    def free_slots(self, replica: str) -> int:
        """Slots without an account."""
        return self._replicas[replica].slots - len(self._accounts[replica])

    def free_slot(self, replica: str) -> int | None:
        """The first slot without an account."""
        taken = {each.slot for each in self._accounts[replica].values()}
        return next((slot for slot in range(self._replicas[replica].slots) if slot not in taken), None)

    def occupancy(self, replica: str) -> float:
        """Held and reserved over the capacity."""
        return 1.0 - self.free(replica) / self._replicas[replica].capacity

    def _write(self, account: Account, *, held: int, reserved: int) -> None:
        self._used[account.replica] += held + reserved - account.tokens
        account.held, account.reserved = held, reserved

    def _within(self, account: Account, held: int) -> int:
        _check_number(held)
        return min(held, self._replicas[account.replica].context)

    def _check(self, account: Account) -> None:
        if not self.is_open(account):
            raise LedgerError(f'{account.conversation} has no open account on {account.replica}')


def _check_number(tokens: int) -> None:
    if tokens < 0:
        raise LedgerError(f'{tokens} tokens are no number of tokens')
