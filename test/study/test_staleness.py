"""The volatility experiment, shortened: who is stale, and by how much at most."""
from __future__ import annotations

import math

import pytest

from pace_ros.cache import Lexicon
from pace_ros.packaged import config_dir
from pace_ros.study.staleness import ARMS, CHANGES, QUESTIONS, Staleness, run, volatile_questions

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures('one_encoder')]
ARM = {arm.name: arm for arm in ARMS}


async def short(name: str) -> Staleness:
    return await run(ARM[name], questions=24, changes=24, asked_an_hour=5.0)


async def test_without_admission_whatever_has_changed_is_stale_for_ever() -> None:
    found = await short('no admission')
    assert found.rate == 1.0
    assert found.cached == found.answers - 24, 'each question went to the model once'


async def test_a_life_bounds_the_stale_share() -> None:
    found = await short('TTL 15 min')
    assert 0 < found.stale < found.after_change
    deviation = math.sqrt(found.bound * (1 - found.bound) / found.cached)
    assert found.cached_rate <= found.bound + 3 * deviation
    assert found.stale_rejects > 0


async def test_nothing_is_stale_under_deny() -> None:
    found = await short('deny')
    assert (found.stale, found.cached) == (0, 0)
    assert found.after_change > 0


async def test_nothing_is_stale_where_every_change_is_told() -> None:
    found = await short('no admission, events')
    assert found.stale == 0
    assert found.cached > found.answers / 3, 'and yet the cache answers'


def test_the_questions_are_all_volatile_and_as_many_as_in_the_paper() -> None:
    questions = volatile_questions(QUESTIONS)
    assert (len(questions), CHANGES) == (105, 104)
    lexicon = Lexicon.read(config_dir() / 'lexicon')
    assert all(lexicon.classify(each, 'zh' if each[0] > 'z' else 'en').volatile for each in questions)
