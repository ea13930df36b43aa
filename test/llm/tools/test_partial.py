"""What has begun is told from what is there whole and from what is something else."""
from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.llm.tools.partial import Partial, either, followed, one_of, sequence

PARTIALS = [
    (sequence('[', re.compile(r'\s*'), re.compile(r'\w+'), '('), ['[f(', '[  name(']),
    (one_of(['price', 'search']), ['price', 'search']),
    (followed(one_of(['', 'functions.']), sequence('price', '(')), ['price(', 'functions.price(']),
    (either(sequence('to=', re.compile('[a-z]')), sequence('ab')), ['to=x', 'ab']),
]


@pytest.mark.parametrize(('partial', 'texts'), PARTIALS)
def test_every_beginning_has_begun_and_only_the_end_is_whole(partial: Partial, texts: list[str]) -> None:
    for text in texts:
        assert partial.whole.fullmatch(text)
        assert all(partial.begun.fullmatch(text[:end]) for end in range(len(text)))
        assert not any(partial.whole.match(text[:end]) for end in range(len(text)))


@pytest.mark.parametrize(('partial', 'other'), [
    (PARTIALS[0][0], '[f)'), (PARTIALS[1][0], 'prize'), (PARTIALS[2][0], 'function price'), (PARTIALS[3][0], 'to=5'),
])
def test_something_else_has_not_begun(partial: Partial, other: str) -> None:
    assert not partial.begun.fullmatch(other)
    assert not partial.whole.match(other)


@given(st.text(alphabet='[ fo(price.=tb', max_size=8), st.sampled_from([partial for partial, _ in PARTIALS]))
def test_what_grows_into_a_whole_one_had_begun(text: str, partial: Partial) -> None:
    match = partial.whole.match(text)
    if match:
        assert all(partial.begun.fullmatch(text[:end]) or partial.whole.match(text[:end]) for end in range(match.end()))
