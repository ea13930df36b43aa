"""Where the files of a public data set lie."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pace_ros.study.datasets.rows import DataSetError


def find(folder: Path, *patterns: str) -> list[Path]:
    """The files of the first pattern that any file in the folder has, in order of name; none if no pattern has any."""
    for pattern in patterns:
        if files := sorted(folder.glob(pattern)):
            return files
    return []


def need(folder: Path, name: str, patterns: Sequence[str]) -> list[Path]:
    """As ``find``. Raises DataSetError naming what was looked for."""
    files = find(folder, *patterns)
    if not files:
        raise DataSetError(f"data set '{name}': {folder} has no file {' or '.join(patterns)}.")
    return files
