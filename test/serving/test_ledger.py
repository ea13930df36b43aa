"""The ledger against a plain dict, under any sequence of entries."""
from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pace_ros.serving.fleet import Replica
from pace_ros.serving.ledger import Account, Ledger, LedgerError

REPLICAS = (
    Replica(name='own', url='http://a', slots=2, context=100),
    Replica(name='shared', url='http://b', slots=4, context=100, kv=250),
)
names = st.sampled_from(['own', 'shared'])
keys = st.sampled_from(['ann', 'bob', 'cy', 'dee', 'eve', 'fay'])
tokens = st.integers(0, 120)


class LedgerAgainstDict(RuleBasedStateMachine):
    """Every entry of a turn's life, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(REPLICAS)
        self.model: dict[tuple[str, str], tuple[int, int]] = {}  # held, reserved
        self.live: dict[tuple[str, str], Account] = {}
        self.closed: list[Account] = []

    def used(self, replica: str) -> int:
        return sum(held + reserved for (name, _), (held, reserved) in self.model.items() if name == replica)

    @rule(replica=names, key=keys, tokens=tokens)
    def open(self, replica: str, key: str, tokens: int) -> None:
        spec = next(each for each in REPLICAS if each.name == replica)
        if (replica, key) in self.model:
            with pytest.raises(LedgerError):
                self.ledger.open(key, replica, tokens)
            return
        count = sum(name == replica for name, _ in self.model)
        room = count < spec.slots and tokens <= spec.context and self.used(replica) + tokens <= spec.capacity
        account = self.ledger.open(key, replica, tokens)
        assert (account is not None) == room
        if account is not None:
            self.model[replica, key], self.live[replica, key] = (0, tokens), account

    @rule(replica=names, key=keys, tokens=tokens)
    def reserve(self, replica: str, key: str, tokens: int) -> None:
        if (replica, key) not in self.model:
            return
        spec = next(each for each in REPLICAS if each.name == replica)
        held, before = self.model[replica, key]
        fits = held + tokens <= spec.context and self.used(replica) - before + tokens <= spec.capacity
        assert self.ledger.reserve(self.live[replica, key], tokens) == fits
        if fits:
            self.model[replica, key] = (held, tokens)

    @rule(replica=names, key=keys, share=st.floats(0.0, 1.0))
    def fill(self, replica: str, key: str, share: float) -> None:
        if (replica, key) in self.model:
            total = sum(self.model[replica, key])
            held = int(share * total)
            self.ledger.fill(self.live[replica, key], held)
            self.model[replica, key] = (held, total - held)

    @rule(replica=names, key=keys, share=st.floats(0.0, 1.0))
    def settle(self, replica: str, key: str, share: float) -> None:
        if (replica, key) in self.model:
            held = int(share * sum(self.model[replica, key]))
            self.ledger.settle(self.live[replica, key], held)
            self.model[replica, key] = (held, 0)

    @rule(replica=names, key=keys)
    def empty(self, replica: str, key: str) -> None:
        if (replica, key) in self.model:
            self.ledger.empty(self.live[replica, key])
            self.model[replica, key] = (0, sum(self.model[replica, key]))

    @rule(replica=names, key=keys)
    def close(self, replica: str, key: str) -> None:
        if self.model.pop((replica, key), None) is not None:
            self.closed.append(self.live.pop((replica, key)))
            self.ledger.close(self.closed[-1])

    @rule(replica=names)
    def drop(self, replica: str) -> None:
        lost = [key for key in self.model if key[0] == replica]
        assert {id(each) for each in self.ledger.drop(replica)} == {id(self.live[key]) for key in lost}
        for key in lost:
            del self.model[key]
            self.closed.append(self.live.pop(key))

    @rule()
    def use_what_is_closed(self) -> None:
        for account in self.closed:
            self.ledger.close(account)  # does nothing, even where the conversation has come back
            assert not self.ledger.is_open(account)
            with pytest.raises(LedgerError):
                self.ledger.settle(account, 1)
            with pytest.raises(LedgerError):
                self.ledger.reserve(account, 1)

    @invariant()
    def exact(self) -> None:
        accounts = {(each.replica, each.conversation): (each.held, each.reserved) for each in self.ledger.accounts()}
        assert accounts == self.model
        for replica in REPLICAS:
            here = self.ledger.accounts(replica.name)
            slots = [each.slot for each in here]
            assert len(set(slots)) == len(slots), 'no slot twice'
            assert all(0 <= slot < replica.slots for slot in slots)
            assert all(each.tokens <= replica.context for each in here)
            used = self.used(replica.name)
            assert 0 <= used <= replica.capacity, 'no overflow'
            assert self.ledger.free(replica.name) == replica.capacity - used
            assert self.ledger.held(replica.name) + self.ledger.reserved(replica.name) == used
            assert self.ledger.free_slots(replica.name) == replica.slots - len(here)
            assert (self.ledger.free_slot(replica.name) is None) == (len(here) == replica.slots)
            assert self.ledger.occupancy(replica.name) == pytest.approx(used / replica.capacity)


TestLedgerAgainstDict = LedgerAgainstDict.TestCase
TestLedgerAgainstDict.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


def test_a_server_that_holds_more_than_was_reserved_is_believed() -> None:
    ledger = Ledger([Replica(name='one', url='http://a', slots=3, context=100, kv=150)])
    first, second = ledger.open('ann', 'one', 70), ledger.open('bob', 'one', 80)
    assert first is not None
    assert second is not None
    ledger.settle(first, 90)
    assert ledger.free('one') == -20
    assert ledger.open('cy', 'one', 1) is None
    assert not ledger.reserve(first, 1)
    ledger.settle(second, 10)
    assert ledger.free('one') == 50


def test_a_slot_holds_no_more_than_its_context() -> None:
    ledger = Ledger(REPLICAS[:1])
    account = ledger.open('ann', 'own', 100)
    assert account is not None
    ledger.settle(account, 101)
    assert account.held == 100


@pytest.mark.parametrize('entry', ['open', 'reserve', 'settle', 'fill'])
def test_negative_numbers_are_refused(entry: str) -> None:
    ledger = Ledger(REPLICAS[:1])
    account = ledger.open('ann', 'own', 10)
    assert account is not None
    with pytest.raises(LedgerError, match='-1'):
        ledger.open('bob', 'own', -1) if entry == 'open' else getattr(ledger, entry)(account, -1)


def test_an_account_of_another_life_does_not_close_the_present_one() -> None:
    ledger = Ledger(REPLICAS[:1])
    old = ledger.open('ann', 'own', 10)
    assert old is not None
    ledger.drop('own')
    new = ledger.open('ann', 'own', 20)
    ledger.close(old)
    assert ledger.account('ann', 'own') is new
