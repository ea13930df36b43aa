"""The simulator against the gateway itself: the same turns, one after the other, and who reads how many tokens."""
from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving_fleet import CONTEXT, SLOTS, SimulatedFleet, messages

from pace_ros.serving.fleet import Fleet
from pace_ros.serving.simulated_replica import written
from pace_ros.serving.simulator.costs import Costs
from pace_ros.serving.simulator.hardware import Hardware
from pace_ros.serving.simulator.script import Script, TurnScript, Workload
from pace_ros.serving.simulator.simulation import simulate

Reads = list[dict[str, int]]  # by turn, tokens by replica
Placed = dict[str, list[tuple[int, TurnScript]]]  # by visitor, turns and their places in the order
APART = 50.0  # s between two turns: each ends before the next one comes, and nobody is idle for too long
HARDWARE = Hardware(Costs(prefill_token=0.01))  # as a simulated replica says of itself
EXPLICIT = ('pinned', 'collocated', 'disaggregated')
"""The policies under which the gateway chooses every slot."""
SHARED = SLOTS * CONTEXT  # tokens of KV cache: slots share it, and it has room for all of them


def served(policy: str, order: str, folder: Path, kv: int) -> tuple[Reads, Fleet, Placed]:
    """Turns of the visitors named in ``order`` through the gateway: what was read, and each one's script with the
    places of its turns in the order.
    """
    scripts: Placed = {name: [] for name in order}

    async def run() -> tuple[Reads, Fleet]:
        fleet = SimulatedFleet(folder, {'policy': policy, 'admission': {'wait': 0.0, 'utilisation': 10.0}}, kv=kv)
        reads: Reads = []
        said: dict[str, list[str]] = {name: [] for name in order}
        for place, name in enumerate(order):
            before = {each: replica.reads for each, replica in fleet.replicas.items()}
            said[name].append(' '.join(f'{name}{place}.{word}' for word in range(3 + 7 * (not said[name]))))
            prompt = len(written([*messages(*said[name])]).split())
            said[name].append(await fleet.ask(name, *said[name]))
            answer = len(said[name][-1].split())
            last = scripts[name][-1][1] if scripts[name] else None
            scripts[name].append((place, TurnScript(prompt, answer, limit=20,
                                                    shared=last.prompt + last.answer if last else 0)))
            reads.append({each: replica.reads - before[each] for each, replica in fleet.replicas.items()
                          if replica.reads > before[each]})
            if name not in order[place + 1:] and (known := fleet.gateway.conversations.get(name)):
                await fleet.gateway.end(known, 'told')
        return reads, fleet.fleet

    return *anyio.run(run), scripts


def simulated(fleet: Fleet, scripts: Placed) -> Reads:
    """The same turns at the same places, each so long after the answer before as that takes."""
    arrivals = []
    for name, placed in scripts.items():
        turns: list[TurnScript] = []
        ended = 0.0
        for place, turn in placed:
            think = max(0.0, place * APART - ended) if turns else 0.0
            turns.append(TurnScript(turn.prompt, turn.answer, turn.shared, limit=turn.limit, think=think))
            ended = place * APART
        arrivals.append((placed[0][0] * APART, Script(name, tuple(turns), family='all', opening=1)))
    rows = simulate(fleet, HARDWARE, Workload('by hand', tuple(sorted(arrivals, key=lambda each: each[0])))).turns
    reads = []
    for row in rows.itertuples():
        read = Counter({str(row.read_at): int(row.read)})
        read[str(row.answered_at)] += int(row.reread)
        reads.append({name: tokens for name, tokens in read.items() if tokens})
    return reads


def compared(policy: str, order: str, kv: int = 0) -> tuple[Reads, Reads]:
    with tempfile.TemporaryDirectory() as folder:
        reads, fleet, scripts = served(policy, order, Path(folder), kv)
    return reads, simulated(fleet, scripts)


def test_a_visitor_s_second_prompt_is_read_whole_where_another_came_between() -> None:
    """13 words with the template's; then 5 of the answer, the template's 4 and 3 new ones: 25. The template's first
    word is in the slot in any case.
    """
    real, ours = compared('disaggregated', 'aba')
    assert real == ours == [{'p': 13, 'd1': 1}, {'p': 12, 'd1': 1}, {'p': 24, 'd1': 1}]
    real, ours = compared('disaggregated', 'aa')
    assert real == ours == [{'p': 13, 'd1': 1}, {'p': 12, 'd1': 1}]


def test_a_visitor_s_second_prompt_is_read_whole_where_slots_share_one_cache() -> None:
    """The gateway has emptied the slot: not even the template's first word is there."""
    real, ours = compared('disaggregated', 'aa', SHARED)
    assert real == ours == [{'p': 13, 'd1': 1}, {'p': 25, 'd1': 1}]
    real, ours = compared('pinned', 'aa', SHARED)
    assert real == ours == [{'p': 13, 'd1': 1}, {'d1': 8}]


@pytest.mark.parametrize('policy', EXPLICIT)
@settings(max_examples=8, deadline=None)
@given(order=st.text('abcd', min_size=2, max_size=9), kv=st.sampled_from((0, SHARED)))
def test_they_read_the_same_tokens_at_the_same_replicas(policy: str, order: str, kv: int) -> None:
    real, ours = compared(policy, order, kv)
    assert real == ours
