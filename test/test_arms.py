from __future__ import annotations

from dataclasses import replace

import pytest

from pace_ros.aging import Aging, AgingRule
from pace_ros.arms import Switches, switches
from pace_ros.config import Config
from pace_ros.settings import ConfigError, with_values
from pace_ros.turn import Arm

TTL = 3600.0
NOTHING = Switches('static', 'off', Aging('off', TTL), l0=False, l1=False, rag=False, persona=False)
OWN = Switches(router='gated', filler='adaptive', aging=Aging('deny', TTL), l0=True, l1=True, rag=True, persona=True)


def test_without_an_arm_the_nodes_own_settings_hold() -> None:
    assert switches(Config(), Arm()) == OWN
    assert switches(Config(), Arm(label='control')) == OWN
    turned = with_values(Config(), {
        'filler.mode': 'off', 'volatility.policy': 'ttl', 'l0.enabled': False, 'l1.enabled': False, 'l2.rag': False,
        'l2.persona': False,
    })
    assert switches(turned, Arm()) == replace(NOTHING, router='gated', aging=Aging('ttl', TTL))


@pytest.mark.parametrize(
    ('name', 'word', 'value'),
    [
        *(('router', word, word) for word in ('static', 'adaptive', 'gated')),
        *(('filler', word, word) for word in ('off', 'fixed', 'adaptive')),
        ('volatility', 'off', 'off'),
        ('volatility', 'ttl', 'ttl'),
        ('volatility', 'deny', 'deny'),
        *((name, word, word == 'on') for name in ('l0', 'l1', 'rag', 'persona') for word in ('on', 'off')),
    ],
)
def test_an_arm_changes_the_switch_it_names_and_no_other(name: str, word: str, value: object) -> None:
    changed = {'aging': Aging(word, TTL)} if name == 'volatility' else {name: value}
    assert switches(Config(), Arm(**{name: word})) == replace(OWN, **changed)


@pytest.mark.parametrize('name', ['l0', 'l1', 'rag', 'persona'])
def test_an_arm_can_switch_on_what_the_node_has_off(name: str) -> None:
    parameter = {'l0': 'l0.enabled', 'l1': 'l1.enabled', 'rag': 'l2.rag', 'persona': 'l2.persona'}[name]
    config = with_values(Config(), {parameter: False})
    assert getattr(switches(config, Arm(**{name: 'on'})), name) is True
    assert getattr(switches(config, Arm()), name) is False


@pytest.mark.parametrize('name', ['router', 'filler', 'volatility', 'l0', 'l1', 'rag', 'persona'])
@pytest.mark.parametrize('word', ['yes', 'ON', ' ', 'true'])
def test_an_unknown_word_is_refused_naming_switch_value_and_choices(name: str, word: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        switches(Config(), Arm(**{name: word}))
    assert str(refusal.value).startswith(f"Arm switch '{name}' must be one of ")
    assert str(refusal.value).endswith(f'not {word!r}.')


def test_the_reference_arms_of_the_paper_can_be_asked_for() -> None:
    pure = Arm('pure LLM', 'static', 'off', 'off', 'off', 'off', 'off', 'off')
    assert switches(Config(), pure) == NOTHING
    deployed = Arm('PACE-static', 'static', 'fixed', 'off', 'on', 'on', 'on', 'on')
    assert switches(Config(), deployed) == replace(OWN, router='static', filler='fixed', aging=Aging('off', TTL))


def test_rules_for_classes_hold_unless_an_experiment_sets_the_policy() -> None:
    config = with_values(Config(), {'volatility.rules': ['price=off'], 'volatility.ttl': 60.0})
    assert switches(config, Arm()).aging == Aging('deny', 60.0, (AgingRule('', 'price', 'off'),))
    assert switches(config, Arm(volatility='deny')).aging == Aging('deny', 60.0)
    assert switches(config, Arm(volatility='ttl')).as_arm('x').volatility == 'ttl'
