"""Table VII, volatility: how often an answer from the cache is out of date, by admission policy."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from pace_ros.study.judging.rates import rates
from pace_ros.study.results import words
from pace_ros.study.results.arms_order import POLICIES, in_order, title
from pace_ros.study.results.estimates import entries, middle
from pace_ros.study.results.published import NOT_AT_HAND, Published
from pace_ros.study.results.rows import Results, plan_of
from pace_ros.study.results.words import Table
from pace_ros.study.statistics import proportion

TITLE = 'Table VII: volatility'
NOTE = (
    'Stale: a former edition of the right answer, of the answers given after the right one had changed; beside it of '
    'those of them from L0, and of all answers from L0, whether or not the right one had changed. '
    'Hits: answered by L0, of all. Errors: wrong or stale, of the answers from L0 and L1. In brackets: 95 % interval. '
    'PTFR in s. θ_cache: its median. ')
WHY = (
    "The paper's {paper} % (its denominator is not at hand) and ours differ mainly for two reasons. Load is low here, "
    'and the adaptive router then sets θ_cache up to 0.98, so that of the repeats in other words, one half of all, '
    'many miss and are answered anew, and rightly. And how often each question is asked{often} decides how many '
    'answers fall between a change and the next admission. ')


def volatility(results: Results) -> Table:
    """One row a policy, the paper's four first."""
    rows = results.part('volatility')
    if rows.empty:
        return words.absent('table_vii', TITLE, 'This run has no volatility part.')
    records = [policy_use(part, name, results.published) for name, part in by_policy(rows)]
    return words.table('table_vii', TITLE, NOTE + _why(results) + NOT_AT_HAND, records, _shown)


def _why(results: Results) -> str:
    """Why stale shares differ from the published ones; nothing where none is published."""
    shares = [results.published.value('VII', name, 'stale_rate') for name in POLICIES]
    paper = ' / '.join(f'{share * 100:.0f}' for share in shares if share > 0)
    sizes = plan_of(results.plan).get('sizes')
    often = sizes.get('asked_an_hour') if isinstance(sizes, dict) else None
    asked = '' if often is None else f', here {often:g} times an hour on average,'
    return WHY.format(paper=paper, often=asked) if paper else ''


def by_policy(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each admission policy, in order."""
    return [(name, rows.loc[rows['arm'] == name]) for name in in_order(rows['arm'])]


def policy_use(part: pd.DataFrame, name: str, published: Published) -> dict[str, object]:
    """What one policy does."""
    found = rates(part)
    cached = part.loc[(part['path'] == 'L0') & part['answered']]
    after = cached.loc[cached['after_change']]
    return {
        'policy': name, 'requests': len(part), 'after_change': found.stale.count,
        **entries('stale_rate', proportion(found.stale.hits, found.stale.count)),
        **entries('stale_of_l0_after_rate', proportion(int(after['stale'].sum()), len(after))),
        **entries('stale_of_l0_rate', proportion(int(cached['stale'].sum()), len(cached))),
        'published_stale_rate': published.value('VII', name, 'stale_rate'),
        **entries('hit_rate', proportion(int((part['path'] == 'L0').sum()), len(part))),
        'published_hit_rate': published.value('VII', name, 'hit_rate'),
        **entries('cache_error_rate', proportion(found.cache_errors.hits, found.cache_errors.count)),
        'published_cache_error_rate': published.value('VII', name, 'cache_error_rate'),
        'stale_rejects': int(part['stale_reject'].sum()), 'theta_cache_p50': middle(part['theta_cache']),
        'ptfr_p50': middle(part['first']),
    }


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    shown: dict[str, Iterable[object]] = {
        'policy': [title(each) for each in frame['policy']], 'n': frame['requests'],
        'after a change': frame['after_change'],
    }
    for name, heading in (('stale_rate', 'stale'), ('hit_rate', 'hits'), ('cache_error_rate', 'errors')):
        shown[heading] = words.spans(frame, name, words.share)
        shown[f'paper {heading}'] = map(words.share, frame[f'published_{name}'])
        if name == 'stale_rate':
            shown['of L0 after a change'] = words.spans(frame, 'stale_of_l0_after_rate', words.share)
            shown['of all L0'] = words.spans(frame, 'stale_of_l0_rate', words.share)
    return shown | {'expired at lookup': frame['stale_rejects'], 'θ_cache': map(words.plain, frame['theta_cache_p50']),
                    'PTFR P50': map(words.timed, frame['ptfr_p50'])}
