"""A learned vol(q): a logistic head on the question's sentence vector, read from a file that training wrote."""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pace_ros.cache.volatility import Verdict
from pace_ros.embedding import Vector
from pace_ros.files import replacing
from pace_ros.language import language

FORMAT = 1
COMMON = 'common'  # the head for languages without one of their own
LEARNED = 'learned'  # the class of what it calls volatile
_NUMBERS = ('width', 'bias', 'threshold', 'stable', 'volatile')


class HeadError(ValueError):
    """A file that holds no usable heads; the message names it."""


@dataclass(frozen=True)
class Head:
    """p(volatile) = sigmoid(w · k + b), where k are the likenesses exp(-width |x - landmark|²) to questions trained on.

    Volatile from ``threshold`` on. ``stable`` and ``volatile`` count the questions it was trained on.
    """

    landmarks: npt.NDArray[np.float32]
    weights: npt.NDArray[np.float32]
    width: float
    bias: float
    threshold: float
    stable: int
    volatile: int

    def probability(self, vector: Vector) -> float:
        """p(volatile) of a unit vector of shape (d,)."""
        cosines = np.einsum('ij,j->i', self.landmarks, vector)  # one thread: BLAS threads stall on a busy CPU
        likeness = np.exp(2.0 * self.width * (cosines - 1.0))
        score = float(likeness @ self.weights) + self.bias
        return 0.5 * (1.0 + math.tanh(0.5 * score))


class LearnedClassifier:
    """One head a language, and a common one for the others."""

    needs_vector = True

    def __init__(self, heads: Mapping[str, Head]) -> None:
        """``heads`` by language, with one under COMMON."""
        self._heads = dict(heads)

    @classmethod
    def read(cls, file: Path, fingerprint: str) -> LearnedClassifier:
        """Read what ``write`` wrote. Raises HeadError if it is absent, broken, or was made for another encoder."""
        try:
            heads = _read(file, fingerprint)
        except HeadError:
            raise
        except FileNotFoundError as error:
            raise HeadError(f'There is no {file}: write it with "volatility train".') from error
        except Exception as error:  # zipfile, zlib and numpy share no base for what a damaged file makes them raise
            raise HeadError(f'{file} holds no volatility heads: {error}') from error
        return cls(heads)

    def write(self, file: Path, fingerprint: str) -> None:
        """Write all heads with the encoder's fingerprint. Raises OSError, with the old file untouched."""
        arrays: dict[str, npt.NDArray[np.generic]] = {
            'format': np.array(FORMAT), 'embedder': np.array(fingerprint), 'languages': np.array(sorted(self._heads)),
        }
        for key, head in self._heads.items():
            arrays[f'{key}.landmarks'] = head.landmarks.astype(np.float16)
            arrays[f'{key}.weights'] = head.weights.astype(np.float32)
            arrays[f'{key}.numbers'] = np.array([getattr(head, name) for name in _NUMBERS], np.float64)
        with replacing(file) as target:
            np.savez_compressed(target, allow_pickle=False, **arrays)

    @property
    def heads(self) -> dict[str, Head]:
        """The heads by language."""
        return dict(self._heads)

    def classify(self, question: str, locale: str, vector: Vector | None = None) -> Verdict:
        """Volatile from the threshold of the language's head on, and where the question has no vector to judge by."""
        if vector is None or not np.isfinite(vector).all():
            return Verdict(True, 'learned: the question has no vector', LEARNED)
        key = language(locale)
        name = key if key in self._heads else COMMON
        head = self._heads[name]
        probability = head.probability(vector)
        volatile = probability >= head.threshold
        reason = f'learned ({name}): {probability:.2f} {">=" if volatile else "<"} {head.threshold:.2f}'
        return Verdict(volatile, reason, LEARNED if volatile else '')


def _read(file: Path, fingerprint: str) -> dict[str, Head]:
    with np.load(file, allow_pickle=False) as archive:
        if int(archive['format']) != FORMAT:
            raise HeadError(f'{file} has format {archive["format"]}, not {FORMAT}.')
        if (made_for := str(archive['embedder'])) != fingerprint:
            raise HeadError(f'{file} was trained for the encoder {made_for}, not {fingerprint}: train it again.')
        heads = {str(key): _head(archive, str(key)) for key in archive['languages']}
    if COMMON not in heads:
        raise HeadError(f'{file} has no head for other languages.')
    if len({head.landmarks.shape[1] for head in heads.values()}) != 1:
        raise HeadError(f'{file} has heads of different dimensions.')
    return heads


def _head(archive: Mapping[str, npt.NDArray[np.generic]], key: str) -> Head:
    landmarks = np.ascontiguousarray(archive[f'{key}.landmarks'], np.float32)
    weights = np.ascontiguousarray(archive[f'{key}.weights'], np.float32)
    numbers = dict(zip(_NUMBERS, map(float, archive[f'{key}.numbers']), strict=True))
    if landmarks.ndim != 2 or weights.shape != (len(landmarks),):
        raise ValueError(f'the {key} head has {weights.shape} weights for {landmarks.shape} landmarks')
    if not (np.isfinite(landmarks).all() and np.isfinite(weights).all() and all(map(math.isfinite, numbers.values()))):
        raise ValueError(f'the {key} head has a number that is not finite')
    return Head(
        landmarks, weights, width=numbers['width'], bias=numbers['bias'], threshold=numbers['threshold'],
        stable=int(numbers['stable']), volatile=int(numbers['volatile']),
    )
