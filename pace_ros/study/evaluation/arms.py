"""The arms of the evaluation (design section 8): each is the robot's own configuration with some settings over it."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pace_ros.config import Config
from pace_ros.settings import with_values

ROBOT, LIBRARY = 'robot', 'gptcache library'


@dataclass(frozen=True)
class Arm:
    """``settings`` are put over the defaults; ``engine`` is what runs it: our robot, or the GPTCache library;
    ``invalidates``: it is told when a fact changes.
    """

    name: str
    title: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    engine: str = ROBOT
    invalidates: bool = False
    note: str = ''

    def config(self, base: Config) -> Config:
        """The whole configuration of the arm. Raises ConfigError."""
        return with_values(base, self.settings)

    @property
    def recalls(self) -> bool:
        """Whether it has a cache, which begins from the snapshot."""
        return self.engine == LIBRARY or bool(self.settings.get('l0.enabled', True))


_UNGUARDED = dict.fromkeys(('guards.facts', 'guards.scope', 'guards.personal', 'guards.unknowing'), False)


def _paper(router: str, filler: str, volatility: str, **levels: bool) -> dict[str, Any]:
    """The switches of a row of section 8; the paper's arms know no guards."""
    on = {'l0': True, 'l1': True, 'rag': True, 'persona': True, **levels}
    return {
        'router.mode': router, 'filler.mode': filler, 'volatility.policy': volatility, 'l0.enabled': on['l0'],
        'l1.enabled': on['l1'], 'l2.rag': on['rag'], 'l2.persona': on['persona'], **_UNGUARDED,
    }


_FULL = _paper('adaptive', 'adaptive', 'ttl')
_STATIC = _paper('static', 'fixed', 'off')
_RECALL_ONLY = {**_FULL, 'l1.enabled': False}  # the showroom reloads its own entries; what ages is what was cached
_GUARDED = dict.fromkeys(_UNGUARDED, True)
_THRESHOLDS = {
    'router.theta_cache': 0.905, 'router.theta_direct': 0.41, 'router.cache_low': 0.88, 'router.cache_high': 0.93,
    'router.direct_low': 0.34, 'router.direct_high': 0.48, 'l1.margin': 0.02, 'filler.launch_below': 0.85,
}
_SPECULATION = {'speculation.enabled': True, 'speculation.max_p_instant': 1.0}
_HEDGE = {'hedge.enabled': True}
_CEILING = {'cost.tokens': 250.0, 'cost.fillers': 0.5}

_ALONE = 'the shipped default with'

ARMS: Mapping[str, Arm] = {each.name: each for each in (
    Arm('pure-llm', 'Pure LLM', _paper('static', 'off', 'off', l0=False, l1=False, rag=False, persona=False)),
    Arm('standard-rag', 'Standard RAG', _paper('static', 'off', 'off', l0=False, l1=False)),
    Arm('gptcache', 'GPTCache', _paper('static', 'off', 'off', l1=False), note='our code with its switches'),
    Arm('pace-static', 'PACE-static', _STATIC, note='the deployed baseline'),
    Arm('pace-full', 'PACE-full', _FULL),
    Arm('a1', 'A1 static router', {**_FULL, 'router.mode': 'static'}),
    Arm('a2-off', 'A2 filler off', {**_FULL, 'filler.mode': 'off'}),
    Arm('a2-fixed', 'A2 filler fixed', {**_FULL, 'filler.mode': 'fixed'}),
    Arm('a3-off', 'A3 volatility off', {**_FULL, 'volatility.policy': 'off'}),
    Arm('a4', 'A4 without L1', {**_FULL, 'l1.enabled': False}),
    Arm('pace-gated', 'PACE-gated', {**_FULL, 'router.mode': 'gated', 'gate.window_requests': 50},
        note='windows of 50 requests; in the paper replayed offline'),
    Arm('shipped', 'Shipped default', note='the configuration as it is shipped'),
    Arm('admit-all', 'No admission control', {**_RECALL_ONLY, 'volatility.policy': 'off'}),
    Arm('ttl-1h', 'TTL 1 h', {**_RECALL_ONLY, 'volatility.ttl': 3600.0}),
    Arm('ttl-15min', 'TTL 15 min', {**_RECALL_ONLY, 'volatility.ttl': 900.0}),
    Arm('deny', 'Deny', {**_RECALL_ONLY, 'volatility.policy': 'deny'}),
    Arm('admit-all-events', 'No admission control, events', {**_RECALL_ONLY, 'volatility.policy': 'off'},
        invalidates=True, note='each change is told to the robot'),
    Arm('gptcache-library', 'GPTCache (library)', _paper('static', 'off', 'off', l1=False), engine=LIBRARY,
        note='the real library with our encoder and L2'),
    Arm('pace-plus', 'PACE-plus', {**_GUARDED, **_THRESHOLDS, **_SPECULATION, **_HEDGE, **_CEILING},
        note='the shipped default with all of the following'),
    Arm('plus-thresholds', 'Plus: thresholds', _THRESHOLDS, note=f'{_ALONE} calibrated thresholds'),
    Arm('plus-guards', 'Plus: guards', {**_STATIC, **_GUARDED}, note='PACE-static with guards'),
    Arm('plus-speculation', 'Plus: speculation', _SPECULATION, note=f'{_ALONE} speculative turns'),
    Arm('plus-hedge', 'Plus: hedge', _HEDGE, note=f'{_ALONE} hedged requests'),
    Arm('plus-ceiling', 'Plus: ceiling', _CEILING, note=f'{_ALONE} a cost ceiling'),
)}

PAPER = ('pure-llm', 'standard-rag', 'gptcache', 'pace-static', 'pace-full', 'a1', 'a2-off', 'a2-fixed', 'a3-off', 'a4')
VOLATILITY = ('admit-all', 'ttl-1h', 'ttl-15min', 'deny', 'admit-all-events')
BEYOND = tuple(name for name in ARMS if name not in (*PAPER, *VOLATILITY))
TRANSFER = ('pure-llm', 'standard-rag', 'gptcache', 'pace-static', 'pace-full')
RAMP = ('pure-llm', 'pace-static', 'pace-full', 'pace-gated', 'pace-plus')
COLD = ('pure-llm', 'pace-static', 'shipped', 'pace-plus')
STEADY = ('pace-static', 'pace-full', 'pace-gated')
