"""Where files are."""
from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros import packaged
from pace_ros.config import Config
from pace_ros.places import data_dir, data_file, or_packaged


@pytest.mark.parametrize(('setting', 'environment', 'expected'), [
    ('/somewhere', '/elsewhere', '/somewhere'),
    ('', '/elsewhere', '/elsewhere'),
    ('', '', '~/.local/share/pace_ros'),
    ('~/here', '', '~/here'),
])
def test_where_data_is_kept(
    monkeypatch: pytest.MonkeyPatch, setting: str, environment: str, expected: str
) -> None:
    monkeypatch.setenv('PACE_DATA_DIR', environment)
    assert data_dir(Config(data_dir=setting)) == Path(expected).expanduser()


def test_a_file_is_where_it_was_put_or_among_the_data_or_nowhere() -> None:
    config = Config(data_dir='/data')
    assert data_file(config, '', 'l0.sqlite') == Path('/data/l0.sqlite')
    assert data_file(config, '~/own.sqlite', 'l0.sqlite') == Path('~/own.sqlite').expanduser()
    assert data_file(config, 'none', 'l0.sqlite') is None


def test_a_file_nobody_chose_is_the_packaged_one() -> None:
    assert or_packaged('', 'gestures.yaml') == packaged.config_dir() / 'gestures.yaml'
    assert or_packaged('~/own.yaml', 'gestures.yaml') == Path('~/own.yaml').expanduser()
