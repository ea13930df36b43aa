"""What is known of one request beside its text."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from pace_ros.language import count_tokens

Message = dict[str, str]
TOKENS_A_MESSAGE = 4  # role and separators


@dataclass
class Completion:
    """Filled in while the stream runs; times in s.

    ``ttft`` runs from the request to its first informative token, ``sample`` is the part of it that tells how busy the
    endpoint is: that of the attempt that spoke, without failed ones and pauses. The breaker's states are those of the
    endpoint that answered, before and after. ``hedge`` is empty for a single request, else says which of two spoke
    first: first, second, neither.
    """

    attempts: int = 0
    ttft: float = math.nan
    sample: float = math.nan
    finish_reason: str = ''
    tokens_in: int = 0
    tokens_out: int = 0
    breaker_before: str = ''
    breaker_after: str = ''
    hedge: str = ''
    tokens_wasted: int = 0

    @property
    def whole(self) -> bool:
        """Whether the model ended by itself, on a healthy endpoint: anything else is never cached."""
        return self.finish_reason == 'stop' and self.breaker_before == self.breaker_after == 'closed'

    def take(self, other: Completion) -> None:
        """Become what the other is, but for what only the caller knows."""
        for each in fields(self):
            if each.name not in ('hedge', 'tokens_wasted'):
                setattr(self, each.name, getattr(other, each.name))


def estimated_tokens(messages: Sequence[Message]) -> int:
    """What a prompt costs, for requests that end before the server says it (an estimate)."""
    return sum(TOKENS_A_MESSAGE + count_tokens(message['content']) for message in messages)
