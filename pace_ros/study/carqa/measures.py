"""What the default encoder and the fact guards make of CarQA: the figures of the data card."""
from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pace_ros.embedding import Embedder, Vector
from pace_ros.facts import FactExtractor
from pace_ros.retrieval.index import KnowledgeIndex
from pace_ros.study.carqa.dedup import NEAR, encoded
from pace_ros.study.carqa.wordings import KINDS
from pace_ros.study.datasets.question import DataSet, Question

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_PASSAGES = 4  # given to the language model by default


@dataclass(frozen=True)
class Spread:
    """Of the cosines between paraphrases of one kind and their seeds: number, quantiles, share at 0.95 and more."""

    kind: str
    number: int
    quantiles: tuple[float, ...]
    near: float


@dataclass(frozen=True)
class Measures:
    """Of one language. Cosines, shares in [0, 1], and numbers of wordings.

    ``seed_nearest``: quantiles of each seed's cosine to the nearest other seed, with the highest last. ``own_first``:
    share of paraphrases nearest to their own seed. ``foreign``: paraphrases at 0.95 or more to the seed of another
    meaning; ``foreign_same``: those of them whose facts do not differ from it. ``refused``: share of paraphrases that
    the guards call another question than their seed. ``retrieved``: share of seeds without an entry of their own with
    a passage that states their answer among the first four found.
    """

    language: str
    kinds: tuple[Spread, ...]
    seed_nearest: tuple[float, ...]
    own_first: float
    foreign: int
    foreign_same: int
    refused: float
    retrieved: float


def measure(data: DataSet, language: str, embedder: Embedder, facts: FactExtractor) -> Measures:
    """All figures of one language (zh, en)."""
    mine = data.in_language(language)
    seeds, others = mine.seeds, mine.paraphrases
    place = {seed.meaning: number for number, seed in enumerate(seeds)}
    own = np.array([place[each.meaning] for each in others])
    vectors, further = (encoded([each.text for each in some], embedder) for some in (seeds, others))
    cosines = further @ vectors.T
    to_own = cosines[np.arange(len(others)), own]
    foreign = cosines >= NEAR
    foreign[np.arange(len(others)), own] = False
    pairs = [(others[row], seeds[column]) for row, column in zip(*np.nonzero(foreign), strict=True)]
    same = {one.text for one, other in pairs if facts.same(one.text, other.text, one.locale)}
    refused = [
        not facts.same(each.text, seeds[number].text, each.locale)
        for each, number in zip(others, own, strict=True)
    ]
    return Measures(
        language, _spreads(others, to_own), _nearest(vectors), float(np.mean(cosines.argmax(axis=1) == own)),
        int(foreign.any(axis=1).sum()), len(same), float(np.mean(refused)), _retrieved(mine, vectors, embedder),
    )


def _spreads(others: Sequence[Question], to_own: npt.NDArray[np.float32]) -> tuple[Spread, ...]:
    found = []
    for kind in ('all', *KINDS):
        mine = to_own[[kind in ('all', each.kind) for each in others]]
        quantiles = tuple(float(each) for each in np.quantile(mine, QUANTILES))
        found.append(Spread(kind, len(mine), quantiles, float(np.mean(mine >= NEAR))))
    return tuple(found)


def _nearest(vectors: Vector) -> tuple[float, ...]:
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    return tuple(float(each) for each in np.quantile(cosines.max(axis=1), (*QUANTILES, 1.0)))


def _retrieved(data: DataSet, vectors: Vector, embedder: Embedder) -> float:
    index = KnowledgeIndex(data.knowledge, embedder)
    asked = [(seed, vector) for seed, vector in zip(data.seeds, vectors, strict=True)
             if seed.meaning not in seed.sources]
    found = [
        bool(set(seed.sources) & {hit.entry.entry_id for hit in index.search(vector, _PASSAGES, datetime.date.min)})
        for seed, vector in asked
    ]
    return float(np.mean(found))
