"""PACE-plus' thresholds, chosen on another catalogue than they are measured on.

    scripts/campaign.sh plus_thresholds [FOLDER]

CarQA of another seed (other values and wordings, so other knowledge), other visitors (seeds 101 and 102), computing at
fixed cost. Each candidate is PACE-plus with an interval for direct return and how far the next entry must be behind
(l1.margin). Of those whose mean judged quality is above PACE-static's by RESERVE at least on the same requests at every
c, with a warm cache and from a cold one, the one with the smallest geometric mean of PTFR P95 over PACE-static's is
marked: what is best of many on one catalogue is less so on the next. FOLDER keeps the study, which then goes on where
it was.
"""
from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table
from scipy.stats import gmean

from pace_ros.config_levels import Embedding
from pace_ros.embedding import open_embedder
from pace_ros.study.carqa.tool import write
from pace_ros.study.evaluation.campaign import Campaign
from pace_ros.study.evaluation.plan import Plan
from pace_ros.study.evaluation.streams import Sizes
from pace_ros.study.evaluation.virtual_run import FIXED
from pace_ros.study.results.rows import read_rows

CATALOGUE, VISITORS, CONCURRENCIES = 8, (101, 102), (1.0, 8.0, 32.0)
DIRECT = ((0.34, 0.48), (0.38, 0.52), (0.42, 0.56), (0.46, 0.60))
MARGINS = (0.015, 0.0175, 0.02)
CACHE_LOW, CACHE_HIGH = 0.88, 0.93  # up to (0.90, 0.95) it makes no difference to speak of
BASE = 'pace-static'
RESERVE = 0.05  # of judged quality, half of what still counts as not inferior
WHEN = {'campaign': 'c=', 'cold': 'cold c='}


def candidates() -> dict[str, dict[str, float | str]]:
    """Settings by the name that says them."""
    return {
        f'{low:g}-{high:g}.m{margin:g}': {
            'from': 'pace-plus', 'router.direct_low': low, 'router.direct_high': high,
            'router.theta_direct': round((low + high) / 2, 3), 'l1.margin': margin,
            'router.cache_low': CACHE_LOW, 'router.cache_high': CACHE_HIGH,
            'router.theta_cache': round((CACHE_LOW + CACHE_HIGH) / 2, 3),
        }
        for low, high in DIRECT for margin in MARGINS
    }


def study(folder: Path, workers: int) -> pd.DataFrame:
    """Run what is missing; the measured requests."""
    catalogue = folder / 'catalogue'
    if not catalogue.is_dir():
        write(catalogue, CATALOGUE, open_embedder(Embedding()))
    own = candidates()
    plan = Plan(('campaign', 'cold'), FIXED, dataset=str(catalogue), arms=(BASE, *own), concurrencies=CONCURRENCIES,
                seeds=VISITORS, sizes=Sizes(measured=400), own=tuple(own.items()))
    with Progress(console=Console(stderr=True)) as bar:
        tasks: dict[str, TaskID] = {}

        def progress(name: str, done: int, total: int) -> None:
            if total:
                if name not in tasks:
                    tasks[name] = bar.add_task(name, total=total)
                bar.update(tasks[name], completed=done)

        Campaign(folder / 'study', plan, workers=workers).run(progress)
    return read_rows(folder / 'study')


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """A line an arm: P95 over the base's and their mean, quality (Q) less the base's, the share of right at once."""
    lines = []
    grouped = rows.assign(ptfr=rows['ptfr'].fillna(float('inf'))).groupby(['arm', 'part', 'concurrency'])
    p95 = grouped['ptfr'].quantile(0.95).unstack(['part', 'concurrency'])
    quality = grouped['quality'].mean().unstack(['part', 'concurrency'])
    for arm in p95.index:
        instant = rows[(rows['arm'] == arm) & rows['path'].isin(['L0', 'L1'])]
        ratios, differences = p95.loc[arm] / p95.loc[BASE], quality.loc[arm] - quality.loc[BASE]
        lines.append({
            'arm': arm, **{f'P95 {WHEN[part]}{c:g}': ratio for (part, c), ratio in ratios.items()},
            'mean': float(gmean(ratios)),
            **{f'Q {WHEN[part]}{c:g}': difference for (part, c), difference in differences.items()},
            'worst': differences.min(), 'right': instant['correct'].mean(),
        })
    return pd.DataFrame(lines).sort_values('mean', ignore_index=True)


def main() -> None:
    """Run, and show the table with the choice marked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', nargs='?', type=Path)
    parser.add_argument('--workers', type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        table = summary(study((options.folder or Path(made)).resolve(), options.workers))
    good = table[(table['worst'].round(3) >= RESERVE) & (table['arm'] != BASE)]
    chosen = good['arm'].iloc[0] if len(good) else ''
    shown = Table(*(str(name) for name in table.columns), title=f'Candidates for PACE-plus, against {BASE}')
    for line in table.itertuples(index=False):
        mark = ' *' if line[0] == chosen else ''
        shown.add_row(f'{line[0]}{mark}', *(f'{value:.3f}' for value in line[1:]))
    Console(width=None if sys.stdout.isatty() else 190).print(shown)
    print(f'chosen: {chosen or f"none is better by {RESERVE} at every c"}')


if __name__ == '__main__':
    main()
