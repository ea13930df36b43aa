"""The volatility experiment in miniature: how stale answers are by admission policy, in virtual time.

    scripts/campaign.sh staleness [SEEDS]

105 questions to the showroom's volatile entries, 104 scripted changes of what they state within two hours. Exit code 1
unless deny and events leave no stale answer, and TTL keeps the stale share of cached answers within its bound (by three
standard deviations).
"""
from __future__ import annotations

import asyncio
import math
import sys

from rich.console import Console
from rich.table import Table

from pace_ros.study.staleness import ARMS, Staleness, run


def main(seeds: int = 3) -> int:
    """Run every arm and print the table."""
    table = Table(title=f'stale answers, mean of {seeds} seeds')
    for heading in ('arm', 'answers', 'from L0', 'stale', 'of those asked after a change', 'of those from L0', 'bound',
                    'stale rejects'):
        table.add_column(heading, justify='left' if heading == 'arm' else 'right')
    good = True
    for arm in ARMS:
        runs = [asyncio.run(run(arm, seed=seed)) for seed in range(1, seeds + 1)]
        stale, cached = sum(each.stale for each in runs), sum(each.cached for each in runs)
        rate = sum(each.rate for each in runs) / seeds
        cached_rate = stale / cached if cached else 0.0
        table.add_row(
            arm.name, f'{sum(each.answers for each in runs) / seeds:.0f}', f'{cached / seeds:.0f}',
            f'{stale / seeds:.0f}', f'{rate:.1%}', f'{cached_rate:.1%}',
            '' if math.isnan(runs[0].bound) else f'{runs[0].bound:.1%}',
            f'{sum(each.stale_rejects for each in runs) / seeds:.0f}',
        )
        good = good and _holds(runs[0], stale, cached)
    Console(width=140).print(table)
    return 0 if good else 1


def _holds(one: Staleness, stale: int, cached: int) -> bool:
    if one.arm.policy == 'deny' or one.arm.events:
        return stale == 0
    if one.arm.policy == 'ttl':
        return stale / cached <= one.bound + 3 * math.sqrt(one.bound * (1 - one.bound) / cached)
    return stale > 0


if __name__ == '__main__':
    sys.exit(main(*map(int, sys.argv[1:])))
