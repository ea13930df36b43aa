"""Rows of made-up runs, for the tests of what reads them."""
from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def run_of(
    arms: dict[str, float], *, concurrencies: tuple[float, ...] = (16,), seeds: tuple[int, ...] = (1, 2, 3),
    n: int = 60, warm_up: int = 5, **fields: Any,
) -> pd.DataFrame:
    """Each arm answers as its factor times the same lognormal draws; one row a request, columns as a run has them."""
    frames = []
    for arm, factor in arms.items():
        for concurrency in concurrencies:
            for seed in seeds:
                chance = np.random.default_rng([seed, int(concurrency)])
                total = n + warm_up
                ptfr = factor * chance.lognormal(0.0, 0.5, total)
                frames.append(pd.DataFrame({
                    'part': 'campaign', 'dataset': 'carqa', 'arm': arm, 'concurrency': float(concurrency), 'seed': seed,
                    'index': range(total), 'phase': ['warm-up'] * warm_up + ['measured'] * n,
                    'at': np.cumsum(chance.exponential(4.0 / concurrency, total)), 'lag': 0.0,
                    'question_id': [f'q{each}' for each in range(total)], 'path': 'L2', 'outcome': 'ANSWERED',
                    'ptfr': ptfr, 'perceived_latency': np.minimum(ptfr, 0.6), 'ttft': ptfr - 0.01,
                    'quality': chance.integers(3, 6, total).astype(float), 'stale': False, 'filler_shown': True,
                    'filler_conflict': '', 'tokens_in': 100, 'tokens_out': 50, 'tokens_wasted': 0, **fields,
                }))
    return pd.concat(frames, ignore_index=True)
