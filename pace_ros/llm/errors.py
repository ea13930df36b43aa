"""What can go wrong between the robot and its language model."""
from __future__ import annotations

import re

TOO_LARGE, BAD_REQUEST = 413, 400
_OF_CONTEXT = re.compile(r'context[ _](length|size|window)', re.IGNORECASE)  # llama.cpp, vLLM, SGLang, OpenAI


class L2Error(RuntimeError):
    """The language model gave no (whole) answer; the message is a reason fit for the record."""


class L2Unreachable(L2Error):
    """No connection, or the connection broke."""


class L2Refused(L2Error):
    """The server answered with an error; ``retry_after`` is what it asked for (s), None if nothing."""

    def __init__(self, message: str, *, status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after

    @property
    def too_long(self) -> bool:
        """Whether the prompt was refused for its length."""
        if self.status == BAD_REQUEST:
            return _OF_CONTEXT.search(str(self)) is not None
        return self.status == TOO_LARGE


class L2Timeout(L2Error):
    """A deadline passed."""


class L2Malformed(L2Error):
    """The server speaks, but not the protocol."""


class BreakerOpen(L2Error):
    """Not even tried: the endpoint failed too often just now."""
