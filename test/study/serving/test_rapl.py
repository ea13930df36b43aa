"""Energy from the machine's counters, where there are any."""
from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros.study.serving.rapl import Rapl


def package(folder: Path, name: str, counted: int, wraps: int = 1_000_000) -> Path:
    path = folder / name
    path.mkdir()
    (path / 'max_energy_range_uj').write_text(str(wraps))
    (path / 'energy_uj').write_text(str(counted))
    return path


def test_joules_of_all_packages_also_where_a_counter_begins_again(tmp_path: Path) -> None:
    one, two = package(tmp_path, 'intel-rapl:0', 900_000), package(tmp_path, 'intel-rapl:1', 0)
    package(tmp_path, 'intel-rapl:0:0', 5)  # a part of package 0
    rapl = Rapl(tmp_path)
    (one / 'energy_uj').write_text('400000')
    (two / 'energy_uj').write_text('250000')
    assert rapl.available
    assert rapl.joules() == pytest.approx(0.75)
    assert rapl.joules() == 0.0
    assert rapl.told() == 'The machine drew 0 J meanwhile, measured (RAPL).'
    (two / 'energy_uj').write_text('500000')
    assert rapl.told(1) == 'The machine drew 0 J meanwhile, 4.00 tokens of answers a joule, measured (RAPL).'


def test_a_machine_without_counters_measures_nothing(tmp_path: Path) -> None:
    assert not Rapl(tmp_path / 'absent').available
    assert Rapl(tmp_path / 'absent').told(9).startswith('Energy was not measured')
    (tmp_path / 'intel-rapl:0').mkdir()
    assert not Rapl(tmp_path).available
