from __future__ import annotations

import pytest

from pace_ros.config import LOCALES, Config
from pace_ros.config_levels import L2, extra_body
from pace_ros.settings import ConfigError, Setting, settings_of, with_values

ALL = list(settings_of(Config))


def test_names_are_unique_and_fit_for_ros() -> None:
    names = [each.name for each in ALL]
    assert len(names) == len(set(names))
    assert all(part.isidentifier() and part == part.lower() for name in names for part in name.split('.'))


@pytest.mark.parametrize('each', ALL, ids=lambda each: each.name)
def test_every_setting_says_what_it_means_and_how_far_it_goes(each: Setting) -> None:
    assert each.doc.rstrip().endswith('.')
    if isinstance(each.default, int | float) and not isinstance(each.default, bool):
        assert each.low is not None
        assert each.high is not None
        assert each.low <= each.default <= each.high
    if each.choices:
        assert each.default in each.choices


def test_the_shipped_values_are_those_of_the_design() -> None:
    config = Config()
    assert (config.router.theta_cache, config.router.theta_direct) == (0.95, 0.75)
    assert (config.filler.budget, config.filler.max_tokens, config.filler.max_chars) == (0.9, 20, 30)
    assert (config.volatility.policy, config.volatility.ttl) == ('deny', 3600.0)
    assert config.l0.capacity == 2000
    assert config.locale in LOCALES
    assert config.autostart
    assert not config.allow_overrides


def test_the_first_token_may_not_be_awaited_longer_than_the_answer() -> None:
    with pytest.raises(ConfigError, match=r"'l2\.first_token_timeout' \(50\.0\).*'l2\.total_timeout' \(40\.0\)"):
        with_values(Config(), {'l2.first_token_timeout': 50.0})
    with pytest.raises(ConfigError, match=r"'l2\.first_token_timeout' \(8\.0\).*'l2\.total_timeout' \(5\.0\)"):
        with_values(Config(), {'l2.total_timeout': 5.0})


@pytest.mark.parametrize('order', [1, -1])
def test_both_deadlines_may_be_changed_together_in_any_order(order: int) -> None:
    for first, total in ((100.0, 100.0), (1.0, 2.0), (60.0, 61.0)):
        values = dict([('l2.first_token_timeout', first), ('l2.total_timeout', total)][::order])
        changed = with_values(Config(), values)
        assert (changed.l2.first_token_timeout, changed.l2.total_timeout) == (first, total)


def test_further_request_fields_are_a_json_object() -> None:
    assert extra_body(L2()) == {}
    body = extra_body(L2(extra_body='{"enable_thinking": false, "seed": 7}'))
    assert body == {'enable_thinking': False, 'seed': 7}


@pytest.mark.parametrize('text', ['', '{', 'no JSON', '[]', '"text"', '3', 'null', "{'a': 1}"])
def test_further_request_fields_that_are_none_are_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigError, match=r"Parameter 'l2\.extra_body'"):
        with_values(Config(), {'l2.extra_body': text})


def test_a_tree_cannot_be_changed_behind_its_checks() -> None:
    with pytest.raises(AttributeError):
        Config().l2.total_timeout = 0.0  # type: ignore[misc]
