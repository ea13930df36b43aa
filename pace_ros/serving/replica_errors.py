"""What can go wrong at a replica."""
from __future__ import annotations


class ReplicaError(RuntimeError):
    """A replica did not do what it was asked; the message names it."""


class ReplicaDown(ReplicaError):
    """It cannot be reached, or hung up: what it held is lost."""


class ReplicaSlow(ReplicaError):
    """It did not answer in time: what it holds cannot be told."""


class ReplicaRefused(ReplicaError):
    """It answered with an error; ``status`` is HTTP's, ``kind`` llama.cpp's name for it."""

    def __init__(self, message: str, *, status: int, kind: str = '') -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
