"""What the workloads are like: whether first prompts are long and appends short, and what runs out first."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.words import Table
from pace_ros.study.serving.cell import RATES
from pace_ros.study.serving.rows import Results, chosen
from pace_ros.study.serving.served import TITLES

SHORT = 1000  # tokens: what is called a short append here
_NOTE = (
    'As drawn for the simulation, in tokens. An append is what a later prompt has that no cache could hold. The '
    f'premise of pinning is that appends are short; here their share up to {SHORT:,} tokens, and what share of all '
    'prompt tokens to be read comes with the first turn. Binding: what pinned serving uses up first by reckoning.')


def workloads(results: Results) -> Table:
    """One row a workload, of one arm's turns: all arms have the same."""
    records = []
    for name, rows in results.turns.loc[results.turns['part'] == RATES].groupby('workload', sort=False, observed=True):
        arm, load = rows['arm'].iloc[0], rows['load'].min()
        own = chosen(rows, arm=arm, load=load)
        first, later = own.loc[own['turn'] == 1], own.loc[own['turn'] > 1]
        runs = chosen(results.runs, part=RATES, workload=name, arm=arm, load=load)
        records.append({
            'workload': name, 'turns': len(own) / max(1, len(first)), 'first_p50': first['prompt'].median(),
            'first_p95': first['prompt'].quantile(0.95), 'append_p50': later['append'].median(),
            'append_p95': later['append'].quantile(0.95), 'short': float((later['append'] <= SHORT).mean()),
            'share_first': float(first['append'].sum() / own['append'].sum()), 'answer_p50': own['answer'].median(),
            'binding': runs['binding'].iloc[0], 'capacity': float((runs['rate'] / runs['load']).mean()),
        })
    if not records:
        return words.absent('serving_workloads', 'The workloads, and the premise', 'This run has no part rates.')
    return words.table('serving_workloads', 'The workloads, and the premise', _NOTE, records, _shown)


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    def whole(name: str) -> list[str]:
        return [f'{each:,.0f}' for each in frame[name].fillna(0)]

    return {
        'workload': [TITLES.get(each, each) for each in frame['workload']],
        'turns': [words.counted(each) for each in frame['turns']], 'first prompt P50': whole('first_p50'),
        'P95': whole('first_p95'), 'append P50': whole('append_p50'), 'append P95': whole('append_p95'),
        f'appends ≤ {SHORT:,}': [words.share(each) for each in frame['short']],
        'read with the first turn': [words.share(each) for each in frame['share_first']],
        'answer P50': whole('answer_p50'), 'binding': frame['binding'],
        'nominal capacity (conversations/s)': [words.fine(each) for each in frame['capacity']],
    }
