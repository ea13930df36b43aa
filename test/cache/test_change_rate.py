"""How often knowledge changes, and the lives it allows (design section 5, property 6)."""
from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.cache.change_rate import ChangeRates
from pace_ros.clock import VirtualClock

DAY = 86_400.0


def test_known_rates(clock: VirtualClock) -> None:
    rates = ChangeRates(clock)
    rates.watch(['price'] * 10 + ['stock'] * 2 + ['stable'] * 50)
    clock.advance(3 * DAY)
    rates.note(['price', 'price', 'price', 'stock', 'stock', 'stock'])
    found = rates.proposals(0.05)
    # 3 changes in 30 entry days; 3 in 6.
    assert found['price'].rate == pytest.approx(0.1 / DAY)
    assert found['price'].ttl == pytest.approx(0.5 * DAY)
    assert found['stock'].ttl == pytest.approx(0.1 * DAY)
    assert 'stable' not in found, 'what has never changed gets no proposal'
    assert str(found['price']) == '3 changes, 0.1 an entry and day: ttl 43200 s'


def test_time_counts_for_the_entries_there_were(clock: VirtualClock) -> None:
    rates = ChangeRates(clock)
    rates.watch(['price'])
    clock.advance(100.0)
    rates.watch(['price'] * 4)
    clock.advance(100.0)
    rates.note(['price'])
    assert rates.proposals(1.0)['price'].ttl == pytest.approx(500.0)


@given(entries=st.integers(1, 1000), seconds=st.floats(1, 1e8), events=st.integers(1, 1000), target=st.floats(1e-6, 1))
def test_the_proposed_life_keeps_the_law(entries: int, seconds: float, events: int, target: float) -> None:
    clock = VirtualClock()
    rates = ChangeRates(clock)
    rates.watch(['price'] * entries)
    clock.advance(seconds)
    rates.note(['price'] * events)
    proposal = rates.proposals(target)['price']
    assert 1 - math.exp(-proposal.rate * proposal.ttl) <= target * (1 + 1e-9)


def test_counts_outlive_the_node(tmp_path: Path, clock: VirtualClock) -> None:
    file = tmp_path / 'rates.json'
    rates = ChangeRates(clock, file)
    rates.watch(['price'])
    clock.advance(1000.0)
    rates.note(['price'])
    rates.save()
    clock.advance(1e6)  # the node is down: nothing is watched
    again = ChangeRates(clock, file)
    again.watch(['price'])
    clock.advance(1000.0)
    assert again.proposals(1.0)['price'].ttl == pytest.approx(2000.0)


@pytest.mark.parametrize('content', ['', '[]', '{"events": 3}', '{"events": {"a": "x"}, "entry_seconds": {}}'])
def test_a_damaged_file_is_counted_anew(
    tmp_path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture, content: str
) -> None:
    file = tmp_path / 'rates.json'
    file.write_text(content)
    assert ChangeRates(clock, file).proposals(0.1) == {}
    assert 'rates.json is damaged' in caplog.text


def test_a_disk_that_refuses_is_logged(clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    rates = ChangeRates(clock, Path('/proc/self/none/rates.json'))
    rates.save()
    assert 'cannot be saved' in caplog.text


def test_the_file_is_plain(tmp_path: Path, clock: VirtualClock) -> None:
    rates = ChangeRates(clock, tmp_path / 'rates.json')
    rates.watch(['stock'])
    clock.advance(7.0)
    rates.save()
    assert json.loads((tmp_path / 'rates.json').read_text()) == {'events': {}, 'entry_seconds': {'stock': 7.0}}
