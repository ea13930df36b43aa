"""The published numbers that are at hand, from ``config/published.yaml``; what is not there is nowhere invented."""
from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pace_ros.packaged import config_dir
from pace_ros.study.refusal import Refusal

NOT_AT_HAND = "–: the paper's text was not at hand."


class PublishedError(Refusal):
    """The file of published numbers cannot be read."""


@dataclass(frozen=True)
class Number:
    """One published value, and where it is from. ``concurrency`` is 0 where it holds for all."""

    table: str
    arm: str
    measure: str
    concurrency: float
    value: float
    origin: str


@dataclass(frozen=True)
class Published:
    """All numbers at hand of one ``work``."""

    work: str
    numbers: tuple[Number, ...]

    def value(self, table: str, arm: str, measure: str, concurrency: float = 0.0) -> float:
        """The published value, NaN where none is at hand."""
        for each in self.numbers:
            if (each.table, each.arm, each.measure) == (table, arm, measure) and each.concurrency in (0.0, concurrency):
                return each.value
        return math.nan


def published(path: Path | None = None) -> Published:
    """Read the file, by default the packaged one. Raises PublishedError naming what is wrong."""
    path = path or config_dir() / 'published.yaml'
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
    except OSError as error:
        raise PublishedError(f'{path}: {error.strerror or error}') from error
    except yaml.YAMLError as error:
        raise PublishedError(f'{path}: no YAML: {error}') from error
    if not isinstance(content, dict) or not isinstance(content.get('numbers'), list):
        raise PublishedError(f"{path}: needs 'work' and a list 'numbers'.")
    numbers = tuple(_number(each, path, place) for place, each in enumerate(content['numbers'], 1))
    return Published(str(content.get('work', '')), numbers)


def _number(entry: Any, path: Path, place: int) -> Number:
    try:
        return Number(str(entry['table']), str(entry['arm']), str(entry['measure']),
                      float(entry.get('concurrency', 0)), float(entry['value']), str(entry['from']))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PublishedError(
            f'{path}: number {place} ({entry!r}) needs table, arm, measure, value and from: {error}') from error
