"""What a judge may see of a row: question, reference and answer; the answers of one request in random order."""
from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from pace_ros.language import is_blank
from pace_ros.study.evaluation.columns import KEYS
from pace_ros.study.judging.error import JudgingError
from pace_ros.study.workload.request import WARM_UP

SEEN = ('locale', 'text', 'reference', 'answer')
REQUEST = tuple(key for key in KEYS if key != 'arm')  # what rows of different arms have in common


class Blinded(NamedTuple):
    """One answer, without arm, path or place in a run."""

    answer_id: str
    locale: str
    question: str
    reference: str
    answer: str


def answer_id(question: str, reference: str, answer: str) -> str:
    """The name of an answer: the same words to the same question by the same reference have one, and one verdict."""
    digest = hashlib.sha256('\0'.join((question, reference, answer)).encode('utf-8', errors='replace'))
    return digest.hexdigest()[:16]


def answer_ids(rows: pd.DataFrame) -> pd.Series:
    """The ``answer_id`` of every row. Raises JudgingError if a column that it needs is missing."""
    _check(rows)
    asked = zip(rows['text'], rows['reference'], rows['answer'], strict=True)
    return pd.Series([answer_id(*map(str, each)) for each in asked], index=rows.index, dtype=object)


def blinded(rows: pd.DataFrame, sample: int, seed: int) -> list[Blinded]:
    """The distinct answers to ``sample`` requests drawn at random (0: to all), those of one request in random order.

    Warm-up and rows without an answer are left out. Raises JudgingError if a column that it needs is missing.
    """
    _check(rows, *REQUEST, 'phase')
    measured = rows[(rows['phase'] != WARM_UP) & ~rows['answer'].fillna('').map(is_blank)]
    draw = random.Random(seed)  # noqa: S311 - an order, no secret
    groups = [group for _, group in measured.groupby(list(REQUEST), sort=True)]
    if sample and sample < len(groups):
        groups = draw.sample(groups, sample)
    else:
        draw.shuffle(groups)
    found: dict[str, Blinded] = {}
    for group in groups:
        answers = _answers(group)
        draw.shuffle(answers)
        for each in answers:
            found.setdefault(each.answer_id, each)
    return list(found.values())


def _answers(group: pd.DataFrame) -> list[Blinded]:
    seen: Iterable[tuple[str, ...]] = zip(*(group[name].astype(str) for name in SEEN), strict=True)
    return sorted(Blinded(answer_id(*each[1:]), *each) for each in seen)


def _check(rows: pd.DataFrame, *further: str) -> None:
    for name in (*SEEN, *further):
        if name not in rows.columns:
            raise JudgingError(f"The rows have no column '{name}', which judging needs.")
