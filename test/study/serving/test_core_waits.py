"""Time without a core, from files as /proc has them."""
from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros.study.serving.core_waits import CoreTime, children_time


def test_threads_of_all_children_count_and_one_that_has_ended_does_not(tmp_path: Path) -> None:
    for path, text in (('self/task/1/children', '7 8 '), ('7/task/7/schedstat', '3000000000 1000000000 5\n'),
                       ('7/task/9/schedstat', '1000000000 0 2\n')):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert children_time(tmp_path) == CoreTime(4.0, 1.0)


def test_the_share_is_of_what_came_since() -> None:
    assert CoreTime(9.0, 3.0).since(CoreTime(6.0, 2.0)) == pytest.approx(0.25)
    assert CoreTime(1.0, 0.0).since(CoreTime(1.0, 0.0)) == 0.0
