"""Deduplication: no two seeds of a language are as near as a cosine of 0.95."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pace_ros.embedding import Embedder, Vector
from pace_ros.study.carqa.catalogue import Item
from pace_ros.study.carqa.templates import LANGUAGES
from pace_ros.study.datasets.question import Question

NEAR = 0.95


def encoded(texts: Sequence[str], embedder: Embedder) -> Vector:
    """Unit vectors, shape (n, d)."""
    return np.stack([embedder.embed(text) for text in texts])


def near_pairs(
    seeds: Sequence[Question], embedder: Embedder, limit: float = NEAR
) -> list[tuple[str, str, float]]:
    """Seeds of one language at ``limit`` or more, with their cosine."""
    found = []
    for locale in sorted({each.locale for each in seeds}):
        texts = [each.text for each in seeds if each.locale == locale]
        vectors = encoded(texts, embedder)
        cosines = np.triu(vectors @ vectors.T, 1)
        found += [(texts[row], texts[column], float(cosines[row, column]))
                  for row, column in zip(*np.nonzero(cosines >= limit), strict=True)]
    return found


def near_ones(found: Sequence[tuple[Item, dict[str, str]]], embedder: Embedder, limit: float = NEAR) -> list[str]:
    """The meanings to leave out so that no two others are near in any language; of two the later one goes."""
    vectors = [encoded([texts[language] for _, texts in found], embedder) for language in LANGUAGES]
    near = np.logical_or.reduce([each @ each.T >= limit for each in vectors])
    dropped: list[str] = []
    kept: list[int] = []
    for place, (item, _) in enumerate(found):
        if near[place, kept].any():
            dropped.append(item.key)
        else:
            kept.append(place)
    return dropped
