"""The frozen cache that arms begin with."""
from __future__ import annotations

from pathlib import Path

from pace_ros.cache import CacheEntry
from pace_ros.cache.entry import Source
from pace_ros.study.evaluation.snapshot import read, write


def test_a_snapshot_is_read_as_it_was_written_but_for_its_time(tmp_path: Path) -> None:
    entries = [
        CacheEntry('多少钱？', '三百元。', 'zh', (Source('box', 'v1'), Source('shop', 'v2')), 5.0, None, 'stable',
                   'price'),
        CacheEntry('How far?', 'Far.', 'en', (), 6.0, None),
    ]
    write(entries, tmp_path / 'a' / 's.jsonl')
    found = read(tmp_path / 'a' / 's.jsonl', written=100.0)
    assert [each.written for each in found] == [100.0, 100.0]
    assert [(each.question, each.answer, each.scope, each.sources, each.reason, each.category) for each in found] == [
        (each.question, each.answer, each.scope, each.sources, each.reason, each.category) for each in entries]
