"""What is known of one request beside its text."""
from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

from pace_ros.language import count_tokens
from pace_ros.llm.tools.call import ToolCall
from pace_ros.llm.tools.used import ToolsUsed

Message = dict[str, str]
Said = Mapping[str, object]  # a message of any kind, also one that calls a tool or answers a call
TOKENS_A_MESSAGE = 4  # role and separators
_THE_CALLERS = ('hedge', 'tokens_wasted', 'used', 'on_call')


@dataclass
class Completion:
    """Filled in while the stream runs; times in s.

    ``ttft`` runs from the request to its first informative token, ``sample`` is the part of it that tells how busy the
    endpoint is: that of the attempt that spoke, without failed ones and pauses. The breaker's states are those of the
    endpoint that answered, before and after. ``hedge`` is empty for a single request, else says which of two spoke
    first: first, second, neither.

    ``calls`` are what the model called instead of answering, ``calling`` is whether it has begun to, which ``on_call``
    is told; ``used`` is what came of it. Over tool rounds the numbers are sums.
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
    calls: tuple[ToolCall, ...] = ()
    calling: bool = False
    used: ToolsUsed = field(default_factory=ToolsUsed)
    on_call: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)

    @property
    def whole(self) -> bool:
        """Whether the model ended by itself, on a healthy endpoint, with an answer and no call: anything else is never
        cached.
        """
        healthy = self.breaker_before == self.breaker_after == 'closed'
        return self.finish_reason == 'stop' and healthy and not self.calls

    def begin_call(self) -> None:
        """Note that the model calls a tool."""
        if not self.calling:
            self.calling = True
            self.on_call()

    def take(self, other: Completion) -> None:
        """Become what the other is, but for what only the caller knows."""
        for each in fields(self):
            if each.name not in _THE_CALLERS:
                setattr(self, each.name, getattr(other, each.name))


def estimated_tokens(messages: Sequence[Said]) -> int:
    """What a prompt costs, for requests that end before the server says it (an estimate)."""
    return sum(
        TOKENS_A_MESSAGE + count_tokens(str(message.get('content') or '')) + count_tokens(
            json.dumps(message['tool_calls']) if 'tool_calls' in message else '')
        for message in messages
    )
