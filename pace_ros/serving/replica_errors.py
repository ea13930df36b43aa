"""What can go wrong at a replica."""
from __future__ import annotations

OUR_OWN = frozenset({401, 403, 404, 408, 429})  # client errors that are between gateway and replica


class ReplicaError(RuntimeError):
    """A replica did not do what it was asked; the message names it."""


class ReplicaDown(ReplicaError):
    """It cannot be reached, or hung up: what it held is lost."""


class ReplicaSlow(ReplicaError):
    """It did not answer in time: what it holds cannot be told."""


class TimeUp(ReplicaError):
    """The turn's own time was over before the replica's was: nobody is to blame."""


class ReplicaRefused(ReplicaError):
    """It answered with an error; ``status`` is HTTP's, ``kind`` llama.cpp's name for it, ``words`` its own sentence."""

    def __init__(self, message: str, *, status: int, kind: str = '', words: str = '') -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.words = words

    @property
    def for_the_request(self) -> bool:
        """Whether the request itself is to blame, so that no other replica would take it either."""
        return 400 <= self.status < 500 and self.status not in OUR_OWN

    @property
    def failed(self) -> bool:
        """Whether the replica itself is to blame: it failed, or said what nobody can read."""
        return self.status >= 500


class TemplateFailed(ReplicaRefused):
    """It could not write a prompt. It says the same of a request whose fields are of the wrong type and of a fault of
    its own: what another one says tells which it is.
    """
