"""The arms in the order in which they are shown, with their titles, colours, and what they switch."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter

import pandas as pd

from pace_ros.config import Config
from pace_ros.study.evaluation.arms import ARMS

PURE, RAG, STATIC, FULL, GATED, PLUS = 'pure-llm', 'standard-rag', 'pace-static', 'pace-full', 'pace-gated', 'pace-plus'
CACHE, LIBRARY, FIXED, SHIPPED = 'gptcache', 'gptcache-library', 'a2-fixed', 'shipped'

MAIN = (PURE, RAG, CACHE, LIBRARY, STATIC, FULL, GATED, SHIPPED, PLUS)
"""The arms that the figures compare."""
ABLATIONS = ('a1', 'a2-off', FIXED, 'a3-off', 'a4')
ALONE = ('plus-thresholds', 'plus-guards', 'plus-speculation', 'plus-hedge', 'plus-ceiling')
ORDER = (*MAIN, *ABLATIONS, *ALONE)

COLOURS = {
    PURE: '#7a7a7a', RAG: '#E69F00', CACHE: '#56B4E9', LIBRARY: '#8c6d31', STATIC: '#0072B2', FULL: '#D55E00',
    GATED: '#009E73', SHIPPED: '#b8a800', PLUS: '#CC79A7',
}
MARKERS = {PURE: 'o', RAG: 's', CACHE: '^', LIBRARY: 'v', STATIC: 'D', FULL: 'P', GATED: 'X', SHIPPED: '<', PLUS: '*'}
"""Each arm's own, so that grey prints can be read too."""

EVENTS = 'admit-all-events'
POLICIES = ('admit-all', 'ttl-1h', 'ttl-15min', 'deny', EVENTS)
"""The admission policies that the volatility experiment compares: the paper's four, then invalidation by events."""
POLICY_COLOURS = dict(zip(POLICIES, ('#D55E00', '#E69F00', '#56B4E9', '#009E73', '#CC79A7'), strict=True))
POLICY_MARKERS = dict(zip(POLICIES, 'os^Dv', strict=True))


def title(arm: str) -> str:
    """How an arm is called in tables and figures; one without a title keeps its name."""
    return ARMS[arm].title if arm in ARMS else arm


def in_order(arms: Iterable[str]) -> list[str]:
    """Each arm once: the known ones in their order, the others behind, by name."""
    places = {name: place for place, name in enumerate((*ORDER, *POLICIES))}
    return sorted(set(arms), key=lambda each: (places.get(each, len(places)), each))


def _word(value: object) -> str:
    return ('on' if value else 'off') if isinstance(value, bool) else str(value)


_SWITCHES = ('router.mode', 'filler.mode', 'volatility.policy', 'l0.enabled', 'l1.enabled', 'l2.rag', 'l2.persona')


def switches(arms: Mapping[str, Mapping[str, object]] | None = None) -> pd.DataFrame:
    """One row an arm: its switches, and its further settings where they differ from the shipped ones.

    ``arms`` are those of a run, by name, with the settings that differ; without any, those of the table of arms.
    """
    chosen = arms or {name: _differing(arm.settings) for name, arm in ARMS.items()}
    rows = []
    for name in in_order(chosen):
        settings = chosen[name]
        words = {key.removeprefix('l2.').partition('.')[0]: _word(settings.get(key, attrgetter(key)(Config())))
                 for key in _SWITCHES}
        further = ', '.join(f'{key} {_word(value)}' for key, value in settings.items() if key not in _SWITCHES)
        note = ARMS[name].note if name in ARMS else ''
        rows.append({'arm': title(name), **words, 'further settings': further, 'note': note})
    return pd.DataFrame(rows)


def _differing(settings: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in settings.items() if value != attrgetter(key)(Config())}
