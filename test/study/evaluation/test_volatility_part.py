"""The volatility part, shortened: who is stale, and by how much at most (design section 5, property 6)."""
from __future__ import annotations

import dataclasses
import functools
import math

import pandas as pd
import pytest

from pace_ros.study.datasets.question import DataSet
from pace_ros.study.evaluation.arms import ARMS
from pace_ros.study.evaluation.cell import Cell
from pace_ros.study.evaluation.laboratory import Laboratory
from pace_ros.study.evaluation.streams import HOUR, Sizes, changing
from pace_ros.study.evaluation.virtual_run import FIXED, Conditions, Job, perform

QUESTIONS = 24
SIZES = Sizes(change_hours=2.0, asked_an_hour=5.0)


@pytest.fixture(scope='module')
def laboratory() -> Laboratory:
    return Laboratory(language='zh')


def short(data: DataSet) -> DataSet:
    """Some of the questions, with the changes that concern them."""
    seeds = data.seeds[:QUESTIONS]
    meanings = {each.meaning for each in seeds}
    return dataclasses.replace(
        data, seeds=seeds, paraphrases=tuple(each for each in data.paraphrases if each.meaning in meanings),
        changes=tuple(each for each in data.changes if each.meaning in meanings),
    )


@functools.cache
def rows(name: str, laboratory: Laboratory) -> pd.DataFrame:
    """What an arm answers after every question was asked once."""
    cell = Cell('volatility', 'carqa-volatile', name, 0.0, 1)
    requests, events = changing(cell, short(laboratory.subject(cell.dataset).data), SIZES)
    assert events
    table = pd.DataFrame(perform(Job(cell, ARMS[name], requests, events), laboratory, Conditions(FIXED)))
    return table[table['phase'] == 'measured']


def test_without_admission_control_every_hit_on_what_has_changed_since_is_stale(laboratory: Laboratory) -> None:
    table = rows('admit-all', laboratory)
    hits = table[(table['path'] == 'L0') & table['after_change']]
    assert len(hits) > 20
    assert hits['stale'].mean() > 0.5
    assert not table.loc[table['path'] == 'L2', 'stale'].any(), 'the cloud knows the present'
    assert table.loc[table['stale'], 'cache_error'].all()
    assert not table.loc[~table['after_change'], 'stale'].any()


def test_a_life_bounds_the_stale_share(laboratory: Laboratory) -> None:
    table = rows('ttl-15min', laboratory)
    hits = table[table['path'] == 'L0']
    changes = len(short(laboratory.subject('carqa-volatile').data).changes)
    bound = 1 - math.exp(-changes / (QUESTIONS * SIZES.change_hours * HOUR) * 900.0)
    deviation = math.sqrt(bound * (1 - bound) / len(hits))
    assert len(hits) > 10
    assert hits['stale'].mean() <= bound + 3 * deviation
    assert table['stale_reject'].any()


def test_nothing_is_stale_under_deny(laboratory: Laboratory) -> None:
    table = rows('deny', laboratory)
    assert table['after_change'].any()
    assert not table['stale'].any()
    assert not (table['path'] == 'L0').any()


def test_little_is_stale_where_every_change_is_told(laboratory: Laboratory) -> None:
    """What was answered without the changed entry in the prompt has no provenance to be found by."""
    table, untold = (rows(name, laboratory) for name in ('admit-all-events', 'admit-all'))
    assert (table['path'] == 'L0').mean() > 0.15, 'and yet the cache answers'
    assert table['stale'].mean() < 0.2 * untold['stale'].mean()
