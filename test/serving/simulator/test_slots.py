"""What is in which slot, which one a server chooses, and what is lost silently."""
from __future__ import annotations

import pytest

from pace_ros.serving.simulator.script import Script, TurnScript
from pace_ros.serving.simulator.slots import Slots, runs

TURNS = (TurnScript(1, 1),)
ANN, BOB, EVE = (Script(name, TURNS) for name in ('ann', 'bob', 'eve'))


@pytest.mark.parametrize(('numbers', 'expected'), [((), 0), ((3,), 1), ((1, 0), 1), ((0, 2), 2), ((5, 0, 4, 1), 2)])
def test_runs_of_consecutive_numbers(numbers: tuple[int, ...], expected: int) -> None:
    assert runs(numbers) == expected


def test_a_slot_holds_what_it_held_last() -> None:
    slots = Slots()
    slots.put(0, ANN, 100)
    slots.put(1, BOB, 50)
    assert [slots.found(slot, ANN) for slot in range(3)] == [100, 0, 0]
    slots.put(0, BOB, 30)
    assert [slots.found(slot, BOB) for slot in range(3)] == [30, 50, 0]
    assert slots.found(0, ANN) == 0
    assert slots.tokens == 80
    slots.erase(0)
    slots.erase(0)
    assert slots.found(0, BOB) == 0
    assert slots.tokens == 50


def test_paged_caches_find_it_whichever_slot_it_is_in() -> None:
    slots = Slots(paged=True)
    slots.put(0, ANN, 100)
    assert slots.found(7, ANN) == 100
    assert slots.found(7, BOB) == 0


def test_conversations_of_a_family_open_alike() -> None:
    slots = Slots()
    slots.put(0, Script('one', TURNS, 'persona', 40), 100)
    assert slots.found(0, Script('two', TURNS, 'persona', 30)) == 30
    assert slots.found(0, Script('three', TURNS, 'another', 40)) == 0
    slots.put(0, Script('one', TURNS, 'persona', 40), 10)
    assert slots.found(0, Script('two', TURNS, 'persona', 30)) == 10


def test_a_server_chooses_what_holds_most_of_the_prompt_else_what_is_unused_for_longest() -> None:
    slots = Slots()
    for slot, script, tokens in ((0, ANN, 100), (1, BOB, 30), (2, EVE, 70)):
        slots.put(slot, script, tokens)
    slots.choose(2, BOB, 200, [0, 1, 2])  # 30 of 200 are more than a tenth
    assert (slots.found(2, BOB), slots.found(1, EVE)) == (30, 70)
    slots.choose(1, BOB, 300, [0, 1, 2])  # 30 of 300 are not: ann's is the oldest
    assert (slots.found(1, ANN), slots.found(0, EVE), slots.found(2, BOB)) == (100, 70, 30)
    slots.choose(1, ANN, 100, [1, 3])  # another one is busy, or holds nothing
    assert slots.found(1, ANN) == 100
    slots.choose(1, BOB, 300, [1, 3])
    assert (slots.found(3, ANN), slots.found(1, ANN)) == (100, 0)
    assert slots.tokens == 200


def test_what_is_longest_unused_is_lost_first_and_busy_slots_are_safe() -> None:
    slots = Slots()
    for slot, script in enumerate((ANN, BOB, EVE)):
        slots.put(slot, script, 100)
    slots.put(0, ANN, 150)
    slots.shrink(260, [0, 1, 2])
    assert (slots.found(0, ANN), slots.found(1, BOB), slots.found(2, EVE)) == (150, 0, 100)
    slots.shrink(0, [2])
    assert (slots.found(0, ANN), slots.found(2, EVE)) == (150, 0)
