"""What the rooms ask of a sentence encoder."""
from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]


class EmbeddingError(RuntimeError):
    """A model that cannot be loaded, or does not give sentence vectors."""


class DegenerateText(ValueError):
    """A text that has no direction of its own in the vector space: nothing in it means anything, or not all of it fits
    the encoder's window, or its vector is zero or not finite.
    """


class Embedder(Protocol):
    """Text to unit vectors; cosine similarity is then the inner product."""

    @property
    def dimension(self) -> int:
        """Length d of a vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """Names the vector space: vectors with different fingerprints must not be compared."""
        ...

    def embed(self, text: str) -> Vector:
        """Encode a question as a unit vector, shape (d,). Raises DegenerateText, also for what would be cut."""
        ...

    def embed_passage(self, text: str) -> Vector:
        """Encode a passage as a unit vector, shape (d,). Raises DegenerateText if it has no direction."""
        ...


def check_meaning(text: str) -> None:
    """Raise DegenerateText for a text without a letter or digit."""
    if not any(char.isalnum() for char in text):
        raise DegenerateText('the text has neither letter nor digit')


def unit(vector: npt.NDArray[np.floating]) -> Vector:
    """Scale to length 1 in float32. Raises DegenerateText for a zero or non-finite vector."""
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length < 1e-12:
        raise DegenerateText('the text has no direction in the vector space')
    return np.ascontiguousarray(vector / length, dtype=np.float32)
