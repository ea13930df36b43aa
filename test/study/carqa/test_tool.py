"""The command: what it prints and how it ends."""
from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from pace_ros.study.carqa import SEED, files, tool
from pace_ros.study.carqa.generation import candidates
from pace_ros.study.carqa.templates import read_templates
from pace_ros.study.refusal import refusing


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    tool.add_arguments(parser)
    return refusing('study carqa', lambda: tool.run(parser.parse_args(words)))


def test_samples_show_both_languages_with_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run('--samples', '2') == 0
    shown = capsys.readouterr().out
    assert shown.count('*answer*') == 4
    assert shown.count('- seed: ') == 4


def test_nothing_to_do_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 2
    assert capsys.readouterr().err == 'study carqa: name a folder to write to, or --check, or --samples N.\n'


def test_a_folder_without_files_cannot_be_checked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(str(tmp_path), '--check') == 2
    assert 'origin.json cannot be used' in capsys.readouterr().err


def test_another_seed_gives_other_values() -> None:
    families = read_templates(files.shipped() / files.TEMPLATES)
    one, other = ({item.key: item.answer('en') for item, _ in candidates(seed, families)} for seed in (SEED, SEED + 1))
    assert one['model.otter.price'] != other['model.otter.price']
