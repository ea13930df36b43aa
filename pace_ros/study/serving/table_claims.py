"""The ConServe paper's claims beside what comes out here."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.words import Table
from pace_ros.study.serving.arms import COLLOCATED, PINNED, PREDICTED
from pace_ros.study.serving.cell import HETEROGENEOUS, HOMOGENEOUS, POWER, PREDICTION, RATES
from pace_ros.study.serving.estimates import efficiency, ratio
from pace_ros.study.serving.rapl import MODELLED
from pace_ros.study.serving.rows import Results, chosen

SIMULATED = 'simulated'
_NOTE = (
    'Ours: relative change of pinned serving at each load that was run, from the lowest to the highest; a change '
    'below 0 is an advantage in a latency, one above 0 in tokens per joule. Latencies are simulated, energy is '
    "modelled. The paper's workloads, hardware, SLO and baselines were not at hand: where our numbers differ, that "
    'may be why. −100 %: the other arm refused more than 5 % there, which counts as infinite.')


def claims(results: Results) -> Table:
    """One row a claim and workload."""
    heading = "The paper's claims beside ours"
    runs = results.runs
    records: list[dict[str, object]] = []
    for workload in dict.fromkeys(runs['workload']):
        records += [each for each in (
            _latency(results, workload, 'ttfet', 'P95 TTFET of conversations, against per-turn prediction'),
            _latency(results, workload, 'later', 'P95 first token of later turns, against per-turn prediction'),
            _violations(results, workload), *_energy(results, workload), _insensitive(results, workload),
        ) if each]
    if not records:
        return words.absent('serving_claims', heading, 'This run has not what they would be compared with.')
    return words.table('serving_claims', heading, _NOTE, records, _shown)


def _latency(results: Results, workload: str, kind: str, claim: str) -> dict[str, object]:
    rows, column = (results.conversations, 'ttfet') if kind == 'ttfet' else (results.later, 'ttft')
    changes = []
    for setting in _settings(results, RATES, workload):
        ours, theirs = (chosen(rows, **setting, arm=arm) for arm in (PINNED, PREDICTED))
        if len(ours) and len(theirs):
            changes.append(ratio(ours, theirs, column).ratio.estimate - 1)
    measure = 'ttfet_p95_change' if kind == 'ttfet' else ''
    return _claim(results, workload, claim, measure, changes, SIMULATED)


def _violations(results: Results, workload: str) -> dict[str, object]:
    own = chosen(results.turns, part=RATES, workload=workload, arm=PINNED)
    shares = own.groupby('load')['late'].mean().tolist()
    return _claim(results, workload, 'share of turns that violate the SLO', 'slo_violations', shares, SIMULATED)


def _energy(results: Results, workload: str) -> Iterable[dict[str, object]]:
    for fleet in (HOMOGENEOUS, HETEROGENEOUS):
        for other in (PREDICTED, COLLOCATED):
            changes = []
            for setting in _settings(results, POWER, workload, fleet=fleet):
                ours, theirs = (efficiency(chosen(results.runs, **setting, arm=arm)) for arm in (PINNED, other))
                if ours == ours and theirs == theirs:  # noqa: PLR0124  not NaN
                    changes.append(ours / theirs - 1)
            yield _claim(results, workload, f'tokens per joule, {fleet}, against {other}',
                         f'tokens_per_joule_change_{fleet}', changes, MODELLED)


def _insensitive(results: Results, workload: str) -> dict[str, object]:
    """Pinned serving predicts nothing: what an error costs is what it costs the policy that predicts."""
    changes = []
    for setting in _settings(results, PREDICTION, workload):
        own = chosen(results.later, **setting, arm=PREDICTED)
        if own.empty or own['error'].nunique() < 2:
            continue
        worst, none = (own.loc[own['error'] == each] for each in (own['error'].max(), own['error'].min()))
        changes.append(ratio(worst, none, 'ttft').ratio.estimate - 1)
    return _claim(results, workload, 'P95 first token of later turns with the most prediction errors, against none: '
                  'per-turn prediction (pinned serving predicts nothing: 0 by construction)', 'prediction_error_change',
                  changes, SIMULATED)


def _settings(results: Results, part: str, workload: str, **values: Any) -> list[dict[str, Any]]:
    wanted = {'workload': workload, **values}
    return [setting for setting, _ in results.settings(part) if wanted.items() <= setting.items()]


def _claim(
    results: Results, workload: str, claim: str, measure: str, values: list[float], label: str
) -> dict[str, object]:
    known = [each for each in values if each == each]  # noqa: PLR0124  not NaN
    if not known:
        return {}
    return {'workload': workload, 'claim': claim, 'published': results.published.value('serving', PINNED, measure),
            'lowest': min(known), 'highest': max(known), 'loads': len(known), 'label': label}


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    spans = [_percent(low) if low == high else f'{_percent(low)} to {_percent(high)}'
             for low, high in zip(frame['lowest'], frame['highest'], strict=True)]
    return {'workload': frame['workload'], 'claim': frame['claim'],
            'paper': [_percent(each) for each in frame['published']], 'ours': spans,
            'loads': [str(each) for each in frame['loads']], 'label': frame['label']}


def _percent(value: float) -> str:
    if value != value:  # noqa: PLR0124  NaN
        return words.DASH
    return '∞' if value == float('inf') else f'{value:+.1%}'.replace('-', '−')
