"""The switches of one turn: the node's own settings, or an experiment's (design section 8)."""
from __future__ import annotations

import functools
from dataclasses import dataclass

from pace_ros.aging import Aging, read_rules
from pace_ros.config import Config, Filler, Router, Volatility
from pace_ros.settings import ConfigError, settings_of
from pace_ros.turn import Arm


@dataclass(frozen=True)
class Switches:
    """What is on in one turn."""

    router: str
    filler: str
    aging: Aging
    l0: bool
    l1: bool
    rag: bool
    persona: bool

    @property
    def volatility(self) -> str:
        """The policy for what is volatile, where no rule says otherwise."""
        return self.aging.policy

    def as_arm(self, label: str) -> Arm:
        """The same switches in the vocabulary of an arm, for the record."""
        words = {name: 'on' if getattr(self, name) else 'off' for name in ('l0', 'l1', 'rag', 'persona')}
        return Arm(label, self.router, self.filler, self.volatility, **words)


def switches(config: Config, arm: Arm) -> Switches:
    """The node's settings with the arm's put over them. Raises ConfigError naming a switch with an unknown value."""
    policy = _chosen('volatility', arm.volatility, config.volatility.policy, _choices(Volatility, 'policy'))
    rules = () if arm.volatility else _rules(config.volatility.rules)  # an experiment has one policy for all classes
    return Switches(
        router=_chosen('router', arm.router, config.router.mode, _choices(Router, 'mode')),
        filler=_chosen('filler', arm.filler, config.filler.mode, _choices(Filler, 'mode')),
        aging=Aging(policy, config.volatility.ttl, rules),
        l0=_switched('l0', arm.l0, config.l0.enabled),
        l1=_switched('l1', arm.l1, config.l1.enabled),
        rag=_switched('rag', arm.rag, config.l2.rag),
        persona=_switched('persona', arm.persona, config.l2.persona),
    )


_rules = functools.cache(read_rules)


@functools.cache
def _choices(section: type, name: str) -> tuple[str, ...]:
    return next(each.choices for each in settings_of(section) if each.name == name)


def _chosen(name: str, value: str, own: str, choices: tuple[str, ...]) -> str:
    if value and value not in choices:
        raise ConfigError(f"Arm switch '{name}' must be one of {', '.join(choices)}, not {value!r}.")
    return value or own


def _switched(name: str, value: str, own: bool) -> bool:
    return own if not value else _chosen(name, value, '', ('on', 'off')) == 'on'
