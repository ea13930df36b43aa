from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from pace_ros.serving.own_folder import SETTLED, own_folder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))


def aged(folder: Path) -> Path:
    long_ago = folder.stat().st_mtime - 2 * SETTLED
    os.utime(folder, (long_ago, long_ago))
    return folder


def test_it_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    with own_folder('fleet-') as folder:
        assert (folder.parent, folder.stat().st_mode & 0o777) == (tmp_path, 0o700)
        (folder / 'slots').mkdir()
        (folder / 'slots' / 'kv-1').write_text('')
    assert [*tmp_path.iterdir()] == []


def test_what_a_killed_one_left_is_deleted_and_nothing_else(tmp_path: Path) -> None:
    left, young, other, target = (tmp_path / name for name in ('fleet-left', 'fleet-young', 'other', 'target'))
    for each in (left, young, other, target):
        each.mkdir()
        (each / 'kv-1').write_text('')
    (tmp_path / 'fleet-link').symlink_to(target)
    (tmp_path / 'fleet-file').write_text('')
    for each in (left, other, target, tmp_path / 'fleet-file'):
        aged(each)
    with own_folder('fleet-') as alive:
        aged(alive)
        with own_folder('fleet-'):
            assert alive.exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        'fleet-file', 'fleet-link', 'fleet-young', 'other', 'target',
    ]
    assert (target / 'kv-1').exists()
