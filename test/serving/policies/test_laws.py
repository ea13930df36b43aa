"""What every policy promises, whatever the fleet."""
from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.serving.fleet import POLICIES
from pace_ros.serving.placement import Placement, Policy, ReplicaView, Turn
from pace_ros.serving.policies import MAKERS, make_policy

Situation = tuple[Turn, list[ReplicaView], 'str | None', random.Random]


def situation(seed: int) -> Situation:
    """A turn, views as a ledger may show them, where the conversation lives, and chance to vary them by."""
    chance = random.Random(seed)
    views = []
    for number in range(chance.randint(1, 5)):
        slots, context = chance.randint(1, 4), chance.choice([256, 512, 1024])
        taken = chance.randint(0, slots)
        capacity = slots * context
        views.append(ReplicaView(
            name=f'r{number}', prefills=chance.random() < 0.7, decodes=chance.random() < 0.7,
            free=capacity - chance.randint(0, taken * context), free_slots=slots - taken, context=context,
            capacity=capacity, waiting=chance.randint(0, 3000), streams=chance.randint(0, 4),
            rate=chance.uniform(1.0, 500.0), hands_over=chance.random() < 0.9,
        ))
    home = chance.choice([None, *(each for each in views if each.decodes and each.free_slots * each.context
                                  < each.capacity)])
    if home is not None:
        held = chance.randint(0, min(home.capacity - home.free, home.context))
        views = [replace(each, held=held) if each is home else each for each in views]
    turn = Turn(chance.choice(['ann', 'bob']), chance.randint(1, 4), chance.randint(1, 500), chance.randint(1, 300))
    return turn, views, None if home is None else home.name, chance


situations = st.integers(0, 2**32).map(situation)


def fits(placement: Placement, turn: Turn, fleet: Sequence[ReplicaView], home: str | None) -> bool:
    """Whether there is room where it is answered, and room and a way where it is read."""
    at = {each.name: each for each in fleet}
    decode, read = at[placement.decode], at[placement.prefill]
    room = decode.goes_on(turn.tokens) if decode.name == home else decode.fits(turn.tokens)
    if read is decode:
        return decode.decodes and room
    way = read.hands_over and decode.hands_over and (read.prefills or read.name == home)
    return decode.decodes and room and way and (
        read.goes_on(turn.prompt) if read.name == home else read.fits(turn.prompt)
    )


def homeless(policy: Policy) -> bool:
    return not policy.settles and policy.name != 'predicted'


@pytest.mark.parametrize('name', POLICIES)
@given(situations)
@settings(deadline=None, max_examples=60)
def test_nothing_is_placed_where_it_does_not_fit(name: str, situation: Situation) -> None:
    turn, views, home, chance = situation
    policy = make_policy(name, prediction_error=chance.choice([0.0, 0.5, 1.0]))
    home = None if homeless(policy) else home
    seen = policy.seen(views)
    for _ in range(2):  # asked again, it still fits
        placement = policy.place(turn, seen, home)
        assert placement is None or fits(placement, turn, seen, home)


@pytest.mark.parametrize('name', POLICIES)
@given(situations)
@settings(deadline=None, max_examples=60)
def test_the_order_of_the_fleet_means_nothing(name: str, situation: Situation) -> None:
    turn, views, home, chance = situation
    home = None if homeless(make_policy(name)) else home
    views = [*make_policy(name).seen(views)]
    shuffled = chance.sample(views, len(views))
    assert make_policy(name).place(turn, views, home) == make_policy(name).place(turn, shuffled, home)


@pytest.mark.parametrize('name', ['pinned', 'collocated'])
@given(situations)
@settings(deadline=None, max_examples=60)
def test_a_home_is_never_left_while_it_is_well(name: str, situation: Situation) -> None:
    turn, views, home, _ = situation
    policy = make_policy(name)
    if home is None:
        return
    at = next(each for each in views if each.name == home)
    expected = Placement(home, home, stays=True) if at.goes_on(turn.tokens) else None
    assert policy.settles
    assert policy.place(turn, policy.seen(views), home) == expected


@pytest.mark.parametrize('name', ['disaggregated', 'least-loaded', 'round-robin'])
@given(situations)
@settings(deadline=None, max_examples=60)
def test_these_never_stay(name: str, situation: Situation) -> None:
    turn, views, _, _ = situation
    policy = make_policy(name)
    placement = policy.place(turn, policy.seen(views), None)
    assert placement is None or not placement.stays


@given(situations)
@settings(deadline=None, max_examples=60)
def test_pinned_looks_at_prompt_lengths_and_kv_occupancy_alone(situation: Situation) -> None:
    turn, views, _, chance = situation
    others = [replace(each, streams=chance.randint(0, 9), held=chance.randint(0, 9)) for each in views]
    other = replace(turn, conversation='someone else', number=turn.number + 3)
    policy = make_policy('pinned')
    assert policy.place(turn, views, None) == policy.place(other, others, None)


@given(situations)
@settings(deadline=None, max_examples=60)
def test_pinned_chooses_the_decoder_by_kv_alone(situation: Situation) -> None:
    turn, views, _, chance = situation
    busy = [replace(each, waiting=chance.randint(0, 9000), rate=chance.uniform(1.0, 900.0)) for each in views]
    before, after = (make_policy('pinned').place(turn, each, None) for each in (views, busy))
    assert (before and before.decode) == (after and after.decode)


def test_the_situations_are_worth_the_name() -> None:
    cases = [situation(seed) for seed in range(300)]
    placed = [make_policy('pinned').place(turn, views, home) for turn, views, home, _ in cases]
    assert sum(each is not None for each in placed) > 100
    assert sum(each is not None and each.prefill != each.decode for each in placed) > 20
    assert sum(each is None for each in placed) > 50


def test_every_policy_of_the_fleet_file_is_made_by_its_name() -> None:
    assert {*MAKERS, 'predicted'} == set(POLICIES)
    assert [make_policy(name).name for name in POLICIES] == list(POLICIES)
    with pytest.raises(KeyError, match='best'):
        make_policy('best')
