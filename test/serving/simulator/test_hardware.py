"""Power and its limits."""
from __future__ import annotations

import pytest

from pace_ros.serving.simulator.costs import Costs
from pace_ros.serving.simulator.hardware import Hardware, Power, PowerLaw, limited
from pace_ros.settings import ConfigError

FULL = Hardware(Costs(prefill_token=1.0, attend=2.0, decode_base=1.0, save_token=1.0), Power(50.0, 400.0, 300.0))


def test_a_limit_slows_down_by_its_law() -> None:
    under = limited(FULL, 100.0, PowerLaw(prefill=0.5, decode=1.0))
    assert under.power == Power(50.0, 100.0, 100.0)
    assert under.costs.prefill_token == pytest.approx(2.0)  # the root of 400 / 100
    assert under.costs.attend == pytest.approx(4.0)
    assert under.costs.decode_base == pytest.approx(3.0)
    assert under.costs.save_token == 1.0


def test_what_draws_less_is_as_it_was() -> None:
    assert limited(FULL, 400.0) == FULL
    assert limited(FULL, 350.0).costs.decode_base == 1.0


@pytest.mark.parametrize('wrong', [(100.0, 50.0, 200.0), (-1.0, 5.0, 5.0), (float('nan'), 1.0, 1.0)])
def test_idle_draws_least(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(ConfigError, match='idle draws least'):
        Power(*wrong)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match=r'50.0 W'):
        limited(FULL, 50.0)
    with pytest.raises(ConfigError, match='one prompt token'):
        Hardware(chunk=0)
