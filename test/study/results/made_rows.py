"""Rows of a run that never was: all parts, all arms, plausible, by seed."""
from __future__ import annotations

import numpy as np
import pandas as pd

from pace_ros.study.evaluation.arms import ARMS
from pace_ros.study.evaluation.columns import COLUMNS
from pace_ros.study.results.arms_order import ALONE, ORDER, POLICIES, in_order, switches

CAMPAIGN = ORDER
SWITCHES = dict(zip(in_order(ARMS), switches().itertuples(), strict=True))
RAMP = {'1 up': 1, '8 up': 8, '32': 32, '8 down': 8, '1 down': 1}


def made_rows(
    each: int = 8, *, seed: int = 0, arms: tuple[str, ...] = CAMPAIGN, offered: tuple[int, ...] = (1, 4, 8, 16, 32)
) -> pd.DataFrame:
    """``each`` measured requests a cell and seed, two warm-up ones ahead."""
    cells = [('campaign', 'carqa', arm, {'measured': c}, s, each) for arm in arms for c in offered
             for s in (1, 2, 3)]
    cells += [('cold', 'carqa', arm, {'measured': 1}, s, each) for arm in arms for s in (1, 2, 3)
              if arm in ('pure-llm', 'pace-static', 'pace-plus')]
    cells += [('steady', 'carqa', arm, {'measured': c}, s, each) for c in (4, 16) for s in (1, 2, 3) for arm in arms
              if arm in ('pace-static', 'pace-full', 'pace-gated')]
    cells += [('ramp', 'carqa', arm, RAMP, s, 2 * each) for arm in arms for s in (1, 2)
              if arm in ('pure-llm', 'standard-rag', 'pace-static', 'pace-full', 'pace-gated')]
    cells += [('volatility', 'carqa-volatile', arm, {'measured': 4}, s, 4 * each) for s in (1, 2, 3)
              for arm in POLICIES]
    cells += [('transfer', name, arm, {'measured': c}, s, each) for name in ('cmrc', 'dureader') for s in (1, 2, 3)
              for arm in ('pure-llm', 'standard-rag', 'gptcache', 'pace-static', 'pace-full') if arm in arms
              for c in (4, 16)]
    cells += [('spot', 'carqa', arm, {'measured': c}, 1, each) for arm in arms for c in (4, 16)
              if arm in ('pure-llm', 'pace-static', 'pace-full')]
    rng = np.random.default_rng(seed)
    return pd.concat([_cell(rng, *cell) for cell in cells], ignore_index=True)


def _cell(rng: np.random.Generator, part: str, dataset: str, arm: str, phases: dict[str, float], seed: int,
          each: int) -> pd.DataFrame:
    names = ['warm-up'] * 2 + [name for name in phases for _ in range(each)]
    cs = np.array([next(iter(phases.values()))] * 2 + [c for c in phases.values() for _ in range(each)], dtype=float)
    n = len(names)
    switched = SWITCHES[arm]
    stream = np.random.default_rng([seed, len(part), len(dataset)])
    seen = stream.random(n) < 0.6
    path = np.where(seen & (switched.l0 == 'on'), 'L0',
                    np.where((stream.random(n) < 0.35) & (switched.l1 == 'on'), 'L1', 'L2'))
    path = np.where((path == 'L2') & (rng.random(n) < 0.01), 'FALLBACK', path)
    quick = np.isin(path, ('L0', 'L1'))
    ttft = rng.lognormal(0.2, 0.45, n) * (1 + cs / (40 if switched.l0 == 'on' else 14))
    embed, route = rng.gamma(20, 5e-5, n), rng.gamma(10, 3e-4, n)
    way = np.where(quick, rng.gamma(10, 2e-4, n), ttft * (0.8 if arm in ('pace-plus', 'plus-hedge') else 1.0))
    ptfr = embed + route + way
    failed = (path == 'L2') & (rng.random(n) < 0.004)
    ptfr = np.where(failed, np.nan, ptfr)
    wanted = {'adaptive': 0.1, 'fixed': 1.0}.get(switched.filler, 0.0)
    launch = (path == 'L2') & (rng.random(n) < wanted)
    t_f = np.where(launch, rng.uniform(0.25, 0.9, n), np.nan)
    shown = launch & ~(t_f >= np.nan_to_num(ptfr, nan=9))
    load = np.clip(0.1 + cs / 40 + rng.normal(0, 0.04, n), 0, 1)
    adaptive = switched.router == 'adaptive'
    opened = (switched.router == 'gated') & (np.arange(n) // max(4, n // 12) % 3 == 0)
    gate = np.where(adaptive | opened, 'adaptive', 'static')
    moved = gate == 'adaptive'
    age = np.where(rng.random(n) < 0.7, rng.exponential(2000, n), np.nan)
    after = ~np.isnan(age) & (part == 'volatility')
    chance = {'admit-all': 0.86, 'ttl-1h': 0.55, 'ttl-15min': 0.3}.get(arm, 0.0) * (part == 'volatility')
    stale = after & (path == 'L0') & (rng.random(n) < chance)
    wrong = quick & (rng.random(n) < (0.02 if switched.l0 == 'on' else 0.0))
    rows = {
        'part': part, 'dataset': dataset, 'arm': arm, 'concurrency': cs, 'seed': seed, 'index': np.arange(n),
        'phase': names, 'at': np.cumsum(stream.exponential(4.0 / cs)), 'lag': rng.gamma(2, 2e-4, n),
        'question_id': [f'q{i}' for i in range(n)], 'meaning': [f'm{i % 7}' for i in range(n)], 'locale': 'zh-CN',
        'kind': 'seed', 'text': '续航多少?', 'answer': '续航六百公里。', 'volatile': part == 'volatility', 'seen': seen,
        'path': np.where(failed, 'UNKNOWN', path), 'outcome': np.where(failed, 'FAILED', 'ANSWERED'), 'reason': '',
        'ptfr': ptfr, 'perceived_latency': np.where(shown, np.fmin(t_f, ptfr), ptfr),
        'completion': ptfr + np.where(quick, 0.01, 1.4), 'ttft': np.where(quick, np.nan, ttft), 't_embed': embed,
        't_route': route, 't_retrieve': np.where(path == 'L0', np.nan, route * 0.6), 't_path': way,
        'theta_cache': np.where(moved, 0.98 - 0.08 * load, 0.95),
        'theta_direct': np.where(moved, 0.85 - 0.15 * load, 0.75),
        'load_index': load, 'p_instant': 0.6, 'gate': gate, 'router_reason': switched.router, 'ttft_ewma': 1.3,
        'filler_launched': launch, 'filler_shown': shown, 'filler_calls': launch.astype(int), 'filler_elapsed': t_f,
        'filler_budget': np.where(path == 'L2', 0.9, np.nan),
        'filler_conflict': np.where(shown & (rng.random(n) < 0.01), 'number', ''),
        'volatile_query': part == 'volatility', 'stale_reject': False, 'exact_repeat': False,
        'cache_score': np.where(path == 'L0', 0.97, 0.7),
        'cached_question': np.where(path == 'L0', '续航多少?', ''), 'retrieval_score': 0.7, 'admitted': path == 'L2',
        'l2_attempts': (path == 'L2').astype(int), 'tokens_in': np.where(path == 'L2', 300, 0),
        'tokens_out': np.where(path == 'L2', 60, 0), 'tokens_wasted': np.where(arm in ('pace-plus', *ALONE), 8, 0),
        'hedge': np.where((arm in ('pace-plus', 'plus-hedge')) & (path == 'L2') & (rng.random(n) < 0.05), 'second', ''),
        'speculation': np.where((arm in ('pace-plus', 'plus-speculation')) & (path == 'L2'), 'used', ''),
        'head_start': np.nan, 'correct': np.where(failed, False, ~wrong & ~stale),
        'quality': np.where(failed, 1.0, np.where(wrong | stale, 2.0, np.clip(rng.normal(4.5, 0.4, n), 1, 5))),
        'stale': stale, 'cache_error': wrong | stale, 'after_change': after, 'event_age': age,
    }
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS))
