from __future__ import annotations

from pathlib import Path

from benchmarks.kill import campaign


def test_killed_at_any_instant_the_cache_comes_back_with_what_was_admitted(tmp_path: Path) -> None:
    outcome = campaign(tmp_path, 10)
    assert outcome.faults == []
    assert outcome.kills.total() == 10
    assert outcome.writes > 100
