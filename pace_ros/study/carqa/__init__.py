"""CarQA: questions to the showroom of a fictional car maker with right answers, in Chinese and English, generated."""
from __future__ import annotations

from pathlib import Path

from pace_ros.study.carqa.files import CarQAError, read, read_volatile, shipped
from pace_ros.study.carqa.generation import SEED, VERSION, CarQA, generate
from pace_ros.study.carqa.templates import TemplateError
from pace_ros.study.datasets.question import DataSet

__all__ = ['SEED', 'VERSION', 'CarQA', 'CarQAError', 'TemplateError', 'generate', 'load', 'load_volatile']


def load(folder: Path | None = None) -> DataSet:
    """CarQA-3k and CarQA-Para in both languages, from a folder that ``study carqa`` wrote; None: the shipped one.

    Raises CarQAError or MissingPackage.
    """
    return read(folder or shipped())


def load_volatile(folder: Path | None = None) -> DataSet:
    """CarQA-Volatile: 105 questions in both languages and the 104 changes of their answers, from such a folder.

    Raises CarQAError or MissingPackage.
    """
    return read_volatile(folder or shipped())
