"""Data sets by name: our own CarQA, public files in a folder of the caller's, a file of one's own, another CarQA."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from pace_ros.study.datasets import banking77, cmrc, crosswoz, dureader, evergreen, own, xquad
from pace_ros.study.datasets.question import DataSet
from pace_ros.study.datasets.rows import DataSetError

FOLDER = 'PACE_STUDY_DATA'
"""The environment variable that names the folder of public files, where the caller does not."""

PUBLIC: Mapping[str, Callable[[Path], DataSet]] = {
    each.NAME: each.load for each in (cmrc, dureader, xquad, banking77, crosswoz, evergreen)
}
"""Loaders of public files, by the name of the data set."""

GENERATED: Mapping[str, str] = {'carqa': 'load', 'carqa-volatile': 'load_volatile'}
"""Functions of ``pace_ros.study.carqa``, by the name of the data set; imported when first asked for."""

NAMES = (*GENERATED, *PUBLIC)


def load(name_or_path: str, folder: Path | None = None) -> DataSet:
    """A data set by its name, from a ``.jsonl`` file of one's own (fields: see ``own``), or from a folder that ``study
    carqa`` wrote.

    Public files are looked for in ``folder``, or where the environment variable PACE_STUDY_DATA says, there first in
    a folder named after the data set. Raises DataSetError, or CarQAError.
    """
    if name_or_path in GENERATED:
        return _generated(GENERATED[name_or_path])
    if name_or_path in PUBLIC:
        return PUBLIC[name_or_path](_folder(name_or_path, folder))
    path = Path(name_or_path)
    if path.suffix == '.jsonl':
        return own.load(path)
    if path.is_dir():
        return _generated(GENERATED['carqa'], path)
    raise DataSetError(f"there is no data set '{name_or_path}': give a .jsonl file, a folder that 'study carqa' wrote, "
                       f"or one of {', '.join(NAMES)}.")


def _generated(name: str, folder: Path | None = None) -> DataSet:
    data: DataSet = getattr(import_module('pace_ros.study.carqa'), name)(folder)
    return data


def _folder(name: str, folder: Path | None) -> Path:
    given = folder or (Path(os.environ[FOLDER]) if os.environ.get(FOLDER) else None)
    if given is None:
        raise DataSetError(f"data set '{name}': say with --data or {FOLDER} where its files are.")
    if not given.is_dir():
        raise DataSetError(f"data set '{name}': {given} is no folder.")
    mine = given / name
    return mine if mine.is_dir() else given
