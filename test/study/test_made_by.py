"""With what a study was made."""
from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

import pace_ros
from pace_ros.study.made_by import made_by, source_digest


def test_what_is_not_installed_is_left_out() -> None:
    assert made_by(['numpy', 'no-such-library'], 2)['versions'] == {'numpy': version('numpy')}


def test_the_code_and_the_machine_are_named() -> None:
    made = made_by([], 3)
    assert len(made['code']) == 12
    assert made['machine']['workers'] == 3


def test_the_code_is_known_by_every_file_of_the_package_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def installed(place: str, **files: str) -> str:
        root = tmp_path / place
        for name, text in {'__init__': '', 'clock': 'TICK = 1\n', **files}.items():
            file = root / name.replace('__in__', '/')
            file.parent.mkdir(parents=True, exist_ok=True)
            file.with_suffix('.py').write_text(text)
        monkeypatch.setattr(pace_ros, '__file__', str(root / '__init__.py'))
        return source_digest()

    first = installed('a')
    assert first == installed('b'), 'not by where it is'
    assert len({first, installed('c', clock='TICK = 2\n'), installed('d', study__in__gate=''),
                installed('e', gate='')}) == 4
