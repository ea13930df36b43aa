from __future__ import annotations

import math
from email.utils import formatdate

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pace_ros.llm.retry_after import retry_after_seconds

WALL = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110


@pytest.mark.parametrize(
    ('value', 'seconds'),
    [
        ('0', 0.0),
        ('3', 3.0),
        ('120', 120.0),
        (' 5 ', 5.0),
        ('0.25', 0.25),
        ('1.5', 1.5),
        ('-1', 0.0),
        ('-0.5', 0.0),
        ('1e9', 1e9),
        ('99999999999', 99999999999.0),
        ('Sun, 06 Nov 1994 08:49:40 GMT', 3.0),
        ('Sun, 06 Nov 1994 08:49:37 GMT', 0.0),
        ('Sun, 06 Nov 1994 08:49:36 GMT', 0.0),
        ('Thu, 01 Jan 1970 00:00:00 GMT', 0.0),
        ('Sunday, 06-Nov-94 08:49:40 GMT', 3.0),
        ('Sun Nov  6 08:49:40 1994', 3.0),
        ('Sun, 06 Nov 1994 08:49:40 -0000', 3.0),
        ('Sun, 06 Nov 1994 09:49:40 +0100', 3.0),
        ('Mon, 07 Nov 1994 08:49:37 GMT', 86400.0),
    ],
)
def test_seconds_and_dates_as_they_are_sent(value: str, seconds: float) -> None:
    assert retry_after_seconds(value, WALL) == seconds


@pytest.mark.parametrize(
    'value',
    [None, '', ' ', 'soon', 'nan', 'inf', '-inf', '1' * 400, '5 s', '3, 5', 'Sun, 99 Nov 1994 08:49:40 GMT',
     'Sun, 06 Nov 1994 88:49:40 GMT', 'Sun, 06 Foo 1994 08:49:40 GMT', 'GMT', ',', 'Sun, 06 Nov'],
)
def test_absent_or_unreadable_is_none(value: str | None) -> None:
    assert retry_after_seconds(value, WALL) is None


def test_a_fraction_of_the_wall_clock_counts() -> None:
    assert retry_after_seconds('Sun, 06 Nov 1994 08:49:38 GMT', WALL + 0.75) == pytest.approx(0.25)


@given(st.integers(0, 10**9))
def test_whole_seconds_are_themselves(seconds: int) -> None:
    assert retry_after_seconds(str(seconds), WALL) == seconds


@given(st.integers(0, 4_000_000_000), st.integers(0, 4_000_000_000))
def test_a_date_is_a_distance_from_now_and_never_negative(moment: int, now: int) -> None:
    assert retry_after_seconds(formatdate(moment, usegmt=True), now) == max(0, moment - now)


NUMBERS = st.integers(-100, 10_000) | st.sampled_from([10**12, 10**20, -(10**20)])
ZONES = st.sampled_from(['GMT', '+0000', '-9999', '+999999999999999', 'X', ''])
DATES = st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, ZONES)


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=40) | DATES.map(lambda d: 'Sun, {:02} Nov {} {:02}:{:02}:{:02} {}'.format(*d)))
@example('Sun, 06 Nov 99999999999999999999 08:49:40 GMT')
@example('Sun, 06 Nov 1994 08:49:40 +99999999999999999')
@example('Sun, 06 Nov 1994 99999999999999999999:49:40 GMT')
@example('Sun, 01 Jan 0001 00:00:00 +2359')
@example('Fri, 31 Dec 9999 23:59:59 -2359')
def test_no_header_is_an_error(value: str) -> None:
    seconds = retry_after_seconds(value, WALL)
    assert seconds is None or (math.isfinite(seconds) and seconds >= 0)
