"""Rules of ageing: read, refused, and which of them holds."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.aging import POLICIES, Aging, AgingRule, check_classes, read_rules
from pace_ros.config import Config
from pace_ros.settings import ConfigError, with_values


@pytest.mark.parametrize(('text', 'rule'), [
    ('price=deny', AgingRule('', 'price', 'deny')),
    ('zh/stock=ttl:900', AgingRule('zh', 'stock', 'ttl', 900.0)),
    (' EN/Stock = TTL : 0.5 ', AgingRule('en', 'stock', 'ttl', 0.5)),
    ('stable=off', AgingRule('', 'stable', 'off')),
    ('hours=ttl', AgingRule('', 'hours', 'ttl')),
])
def test_a_rule_is_read(text: str, rule: AgingRule) -> None:
    assert AgingRule.read(text) == rule


@pytest.mark.parametrize('text', ['price', 'price=never', '=deny', 'price=ttl:-3', 'price=deny:3', 'a b=off', 'x/=off'])
def test_what_is_no_rule_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r'volatility\.rules') as caught:
        AgingRule.read(text)
    assert repr(text) in str(caught.value)


def test_a_life_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match='above 0 s'):
        AgingRule.read('price=ttl:0')


def test_the_configuration_refuses_a_bad_rule() -> None:
    with pytest.raises(ConfigError, match="'price=perhaps'"):
        with_values(Config(), {'volatility.rules': ['stock=off', 'price=perhaps']})


@pytest.mark.parametrize(('category', 'locale', 'expected'), [
    ('price', 'en-US', ('deny', 3600.0)),  # the common policy
    ('stable', 'en-US', ('off', 3600.0)),
    ('stock', 'en-US', ('ttl', 900.0)),
    ('stock', 'zh-CN', ('off', 3600.0)),  # its language counts more, wherever the rule stands
    ('hours', 'zh', ('ttl', 60.0)),  # of equal rules the last
])
def test_the_most_special_rule_holds(category: str, locale: str, expected: tuple[str, float]) -> None:
    rules = read_rules(['zh/stock=off', 'stock=ttl:900', 'hours=deny', 'hours=ttl:60'])
    assert Aging('deny', 3600.0, rules).of(category, locale) == expected


@given(
    policy=st.sampled_from(POLICIES), ttl=st.floats(1, 1e6),
    rules=st.lists(st.builds(AgingRule, st.sampled_from(['', 'zh', 'en']), st.sampled_from(['price', 'stock']),
                             st.sampled_from(POLICIES), st.none() | st.floats(1, 1e6))),
    category=st.sampled_from(['price', 'stock', 'offer']),
)
def test_only_rules_for_the_class_and_language_count(
    policy: str, ttl: float, rules: list[AgingRule], category: str
) -> None:
    mine = [rule for rule in rules if rule.category == category and rule.language in ('', 'zh')]
    assert Aging(policy, ttl, tuple(rules)).of(category, 'zh-TW') == Aging(policy, ttl, tuple(mine)).of(category, 'zh')
    if not mine:
        assert Aging(policy, ttl, tuple(rules)).of(category, 'zh') == (policy, ttl)


def test_a_rule_for_a_class_nothing_is_in_is_refused() -> None:
    check_classes(read_rules(['price=deny', 'stable=off', 'knowledge=ttl']), ['price'])
    with pytest.raises(ConfigError, match="'prices'; there are knowledge, price, stable, unknown"):
        check_classes(read_rules(['prices=deny']), ['price'])
