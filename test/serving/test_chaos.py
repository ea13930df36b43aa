"""Many conversations at once while replicas die, stall and come back: every turn is answered or refused."""
from __future__ import annotations

import random
from pathlib import Path

import anyio
import pytest
from serving_fleet import SimulatedFleet

from pace_ros.clock import SystemClock
from pace_ros.serving.fleet import POLICIES
from pace_ros.serving.replica_errors import ReplicaError
from pace_ros.serving.seating import Refused
from pace_ros.serving.simulated_replica import Faults

pytestmark = pytest.mark.anyio
PATIENCE = {'connect': 0.1, 'hand_over': 0.2, 'prefill': 0.2, 'first_token': 0.2, 'next_token': 0.2}
ROLES = {'p': 'prefill', 'd1': 'decode', 'd2': 'decode', 'd3': 'decode'}


class Visitors:
    """Conversations of 5 turns each; some hang up."""

    def __init__(self, fleet: SimulatedFleet, seed: int) -> None:
        self.fleet = fleet
        self.chance = random.Random(seed)
        self.answered = self.refused = self.failed = self.hung_up = 0

    async def visit(self, key: str) -> None:
        turns = [f'{key} ' + ' '.join(f'w{number}' for number in range(self.chance.randint(5, 60)))]
        for _ in range(5):
            try:
                with anyio.move_on_after(self.chance.choice([5.0, 5.0, 5.0, 0.02])) as scope:
                    turns += [await self.fleet.ask(key, *turns), 'next']
                    self.answered += 1
                self.hung_up += scope.cancelled_caught
            except Refused:
                self.refused += 1
            except ReplicaError as error:
                assert str(error)  # noqa: PT017  it may be answered as well
                self.failed += 1
            await anyio.sleep(self.chance.random() * 0.01)

    async def disturb(self) -> None:
        faults = [
            Faults(dies_after=0), Faults(dies_after=2), Faults(stalls_after=0), Faults(stalls_after=1),
            Faults(resets={'restore'}), Faults(hangs={'save', 'restore'}), Faults(on_saved=lambda path: path.unlink()),
            Faults(kills={'save'}), Faults(refuses={'completions': (500, 'compute error')}), Faults(breaks_after=1),
            Faults(hangs={'tokenize', 'completions'}), Faults(hangs={'completions'}),
        ]
        while True:
            replica = self.chance.choice([*self.fleet.replicas.values()])
            replica.faults = self.chance.choice(faults)
            await anyio.sleep(0.02)
            replica.revive()
            await self.fleet.keeper.look()


@pytest.mark.parametrize('policy', POLICIES)
async def test_every_turn_is_answered_or_refused_and_the_ledger_is_exact(tmp_path: Path, policy: str) -> None:
    fleet = SimulatedFleet(tmp_path, {'policy': policy, 'deadlines': PATIENCE, 'admission': {'wait': 0.2}},
                           roles=ROLES, slots=6, clock=SystemClock())
    for replica in fleet.replicas.values():
        replica.word_time = 0.001
    visitors = Visitors(fleet, seed=POLICIES.index(policy))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as disturbing:
            disturbing.start_soon(visitors.disturb)
            async with anyio.create_task_group() as group:
                for number in range(15):
                    group.start_soon(visitors.visit, f'v{number}')
            disturbing.cancel_scope.cancel()
    assert visitors.answered + visitors.refused + visitors.failed + visitors.hung_up == 75
    assert visitors.answered >= 30
    for replica in fleet.replicas.values():
        replica.faults = Faults()
    for _ in range(2):
        await fleet.keeper.look()
    fleet.check()
    homes = [fleet[each.replica].slots[each.slot] for each in fleet.gateway.ledger.accounts()]
    for conversation in fleet.gateway.conversations:
        await fleet.gateway.end(conversation, 'told')
    assert (fleet.gateway.ledger.accounts(), len(fleet.gateway.conversations)) == ([], 0)
    assert [each.held for each in homes if each.held] == []
    assert not any(each.lock.locked() for replica in fleet.replicas.values() for each in replica.slots)
