from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.serving.cores import shares


@pytest.mark.parametrize(('prefillers', 'decoders', 'cores', 'expected'), [
    (1, 2, [0, 1], [[0], [1], [1]]),
    (1, 2, [0], [[0], [0], [0]]),
    (1, 2, [0, 2, 4, 6, 8, 10], [[0, 2], [4, 6], [8, 10]]),
    (1, 1, [0, 1, 2, 3], [[0, 1], [2, 3]]),
    (0, 2, [0, 1], [[0], [1]]),
    (2, 1, [0, 1, 2], [[0], [1], [2]]),
    (1, 4, [0, 1, 2], [[0], [1], [2], [1], [2]]),
])
def test_by_hand(prefillers: int, decoders: int, cores: list[int], expected: list[list[int]]) -> None:
    assert shares(prefillers, decoders, cores) == expected


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 4), st.integers(1, 6), st.integers(1, 16))
def test_everyone_has_a_core_and_the_kinds_share_none(prefillers: int, decoders: int, count: int) -> None:
    given_out = shares(prefillers, decoders, range(count))
    assert len(given_out) == prefillers + decoders
    assert all(given_out)
    if count > 1:
        reading = {core for each in given_out[:prefillers] for core in each}
        assert not reading & {core for each in given_out[prefillers:] for core in each}
