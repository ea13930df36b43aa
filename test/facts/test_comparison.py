"""The order of products, and what is compared with what."""
from __future__ import annotations

import pytest

from pace_ros import packaged
from pace_ros.facts import ProductNames
from pace_ros.facts.comparison import compared, direction, turned_round
from pace_ros.facts.names import Name

NAMES = ProductNames.read(packaged.config_dir() / 'names.yaml')
LARK, HERON, BISON = (frozenset({('model', name)}) for name in ('lark', 'heron', 'bison'))


def groups(text: str) -> list[set[frozenset[Name]]]:
    return [set(group) for group in direction(text.lower(), list(NAMES.mentions(text)))]


@pytest.mark.parametrize('text', [
    '', 'How much is it?', 'How much is the Lark?', 'The Lark Plus in white', '云雀的旗舰版',
    'The Lark, how much is the Lark?',
])
def test_one_product_has_no_order(text: str) -> None:
    assert groups(text) == []


@pytest.mark.parametrize('text', [
    'Lark or Heron?', 'The Lark and the Heron', 'the Lark vs. the Heron', 'Lark, Heron',
    '云雀和苍鹭哪个快', '云雀还是苍鹭', '云雀、苍鹭', 'Which is faster, the Lark or the Heron?', '云雀跟苍鹭比哪个快',
])
def test_products_side_by_side_have_no_order(text: str) -> None:
    assert groups(text) == [{LARK, HERON}]


@pytest.mark.parametrize('text', [
    'Is the Lark faster than the Heron?', '云雀比苍鹭快吗', 'Swap my Lark for a Heron', '云雀换苍鹭',
    'How much does the Lark cost compared to the Heron?',
])
def test_other_products_have(text: str) -> None:
    assert groups(text) == [{LARK}, {HERON}]


def test_a_group_may_be_compared_with_a_product() -> None:
    assert groups('Do the Lark and the Heron fit what fits into the Bison?') == [{LARK, HERON}, {BISON}]


def test_the_names_of_a_product_stay_together() -> None:
    plus, top = (frozenset({('model', model), ('trim', trim)}) for model, trim in (('lark', 'plus'), ('heron', 'max')))
    assert groups('Lark Plus or Heron Max') == groups('the Heron Max and the Lark Plus') == [{plus, top}]


def test_a_trim_belongs_to_the_model_before_it() -> None:
    plus, top = (frozenset({('model', 'lark'), ('trim', trim)}) for trim in ('plus', 'max'))
    assert groups('the Lark Plus and Max') == groups('云雀旗舰版和进阶版') == [{plus, top}]


@pytest.mark.parametrize(('one', 'other'), [
    ('is leasing cheaper than a loan?', 'is a loan cheaper than leasing?'),
    ('快充比慢充贵吗', '慢充比快充贵吗'),
    ('请问快充比慢充贵吗', '慢充比快充贵多少'),
])
def test_a_comparison_may_be_turned_round(one: str, other: str) -> None:
    assert turned_round(compared(one), compared(other))
    assert turned_round(compared(other), compared(one))
    assert not turned_round(compared(one), compared(one))


@pytest.mark.parametrize(('one', 'other'), [
    ('is leasing cheaper than a loan?', 'is leasing a car any cheaper than a loan?'),
    ('is it cheaper than a loan?', 'is a loan cheaper?'),
    ('is it cheaper than a loan?', 'is it cheaper than cash?'),
    ('快充比慢充贵吗', '快充比慢充贵不贵'),
])
def test_other_comparisons_are_not(one: str, other: str) -> None:
    assert not turned_round(compared(one), compared(other))
    assert not turned_round(compared(other), compared(one))


@pytest.mark.parametrize('text', [
    '', 'than', '比', 'the bigger one', '性价比高吗', '百分比', '比较贵', '比如云雀', '同比增长', '比例',
])
def test_what_compares_nothing(text: str) -> None:
    found = compared(text)
    assert found is None or not (found.what and found.standard)
