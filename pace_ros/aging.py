"""Which policy an answer falls under by the class of its volatility and its language: the rules of one turn."""
from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pace_ros.language import language
from pace_ros.settings import ConfigError

POLICIES = ('off', 'ttl', 'deny')
STABLE = 'stable'  # the class of an answer that does not age
UNKNOWN = 'unknown'  # of one whose classifier failed
KNOWLEDGE = 'knowledge'  # of one that ages only because the knowledge it is made of does
_RULE = re.compile(
    r'(?:([a-z]{2,3})/)?([a-z][a-z0-9_-]*)\s*=\s*(off|deny|ttl(?:\s*:\s*(\d+(?:\.\d+)?))?)', re.IGNORECASE
)


@dataclass(frozen=True)
class AgingRule:
    """The policy for one class of volatility, in one language or in all (empty); ``ttl`` in s, None: the common one."""

    language: str
    category: str
    policy: str
    ttl: float | None = None

    @classmethod
    def read(cls, text: str) -> AgingRule:
        """Read a rule such as *price=deny*, *zh/stock=ttl:900* or *stable=ttl:86400*. Raises ConfigError."""
        match = _RULE.fullmatch(text.strip())
        if match is None:
            raise ConfigError(f"Parameter 'volatility.rules' has {text!r}, which is no rule like price=deny, "
                              'zh/stock=ttl:900 or stable=off.')
        where, category, policy, ttl = match.groups()
        if ttl is not None and float(ttl) <= 0:
            raise ConfigError(f"Parameter 'volatility.rules' has {text!r}: a life must be above 0 s.")
        return cls((where or '').lower(), category.lower(), _word(policy), float(ttl) if ttl else None)


def _word(policy: str) -> str:
    return policy.split(':', maxsplit=1)[0].strip().lower()


@dataclass(frozen=True)
class Aging:
    """What holds in one turn: the policy for what is volatile, its life ``ttl`` (s), and the rules beside it."""

    policy: str
    ttl: float
    rules: tuple[AgingRule, ...] = ()

    def of(self, category: str, locale: str) -> tuple[str, float]:
        """Policy and life (s) of a class in a language.

        A rule for the language counts more than one for all, of equal ones the last. Without a rule the stable class
        is free and every other one under the common policy.
        """
        policy, ttl, best = ('off' if category == STABLE else self.policy), self.ttl, -1
        for rule in self.rules:
            weight = int(bool(rule.language))
            if rule.category == category and rule.language in ('', language(locale)) and weight >= best:
                policy, ttl, best = rule.policy, rule.ttl if rule.ttl is not None else self.ttl, weight
        return policy, ttl


def read_rules(texts: Iterable[str]) -> tuple[AgingRule, ...]:
    """All rules in order. Raises ConfigError naming the first that is none."""
    return tuple(AgingRule.read(text) for text in texts)


def check_classes(rules: Iterable[AgingRule], categories: Collection[str]) -> None:
    """Raise ConfigError for a rule for a class that no question is ever put into."""
    known = {*categories, STABLE, KNOWLEDGE, UNKNOWN}
    for rule in rules:
        if rule.category not in known:
            raise ConfigError(f"Parameter 'volatility.rules' names the class {rule.category!r}; there are "
                              f'{", ".join(sorted(known))}.')
