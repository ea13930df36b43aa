"""Against the GPTCache library: how fast a hit is, how often it is right, how often it is not."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.arms_order import CACHE, LIBRARY, SHIPPED, STATIC
from pace_ros.study.results.estimates import entries
from pace_ros.study.results.hit_kinds import OTHER, RIGHT, STALE, WRONG
from pace_ros.study.results.rows import Results
from pace_ros.study.results.words import Table
from pace_ros.study.statistics import percentile_interval, proportion

TITLE = 'Against the GPTCache library: hits'
NOTE = (
    'Hit: answered by L0. Hit latency: PTFR of hits, s from receipt. True hits: right answers from L0 to '
    'the question that was asked, of all requests. Of all hits – false: the cached question has another meaning '
    '(where its meaning is not known: the answer is wrong); wrong when cached: the same meaning, a wrong answer; '
    'stale: the same meaning, a former edition of the right answer. In brackets: 95 % interval. ')


def library(results: Results) -> Table:
    """One row an arm and offered concurrency."""
    by_cell = results.cells('campaign')
    records = [{'concurrency': c, 'arm': arm, **hits(part)} for (arm, c), part in by_cell.items()
               if arm in (LIBRARY, CACHE, STATIC, SHIPPED)]
    if LIBRARY not in {arm for arm, _ in by_cell}:
        return words.absent('library', TITLE, 'This run has no arm with the GPTCache library.')
    return words.table('library', TITLE, NOTE, records, _shown)


def hits(part: pd.DataFrame) -> dict[str, object]:
    """Of one cell."""
    own = part.loc[part['path'] == 'L0']
    kinds = own['hit'].value_counts()
    record: dict[str, object] = {'requests': len(part), 'hits': len(own)}
    record |= entries('hit_rate', proportion(len(own), len(part)))
    for percent in (50, 95):
        record |= entries(f'hit_p{percent}', percentile_interval(own, 'ptfr', percent))
    record |= entries('true_hit_rate', proportion(int(kinds.get(RIGHT, 0)), len(part)))
    for kind, name in ((OTHER, 'false_hit_rate'), (WRONG, 'wrong_when_cached_rate'), (STALE, 'stale_hit_rate')):
        record |= entries(name, proportion(int(kinds.get(kind, 0)), len(own)))
    return record


def _shown(frame: pd.DataFrame) -> Mapping[str, Iterable[object]]:
    return {
        'c': words.offered(frame), 'arm': words.arms(frame), 'n': frame['requests'],
        'hits': map(words.share, frame['hit_rate']), 'hit latency P50': words.spans(frame, 'hit_p50', words.brief),
        'P95': words.spans(frame, 'hit_p95', words.brief),
        'true hits': words.spans(frame, 'true_hit_rate', words.share),
        'false hits': words.spans(frame, 'false_hit_rate', words.share),
        'wrong when cached': words.spans(frame, 'wrong_when_cached_rate', words.share),
        'stale': words.spans(frame, 'stale_hit_rate', words.share),
    }
