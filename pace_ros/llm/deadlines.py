"""Until when a request may be waited for."""
from __future__ import annotations

from dataclasses import dataclass, replace

from pace_ros.llm.errors import L2Timeout


@dataclass(frozen=True)
class Deadlines:
    """Instants on the monotonic clock; ``next_token`` moves with every token, whatever bytes drip between.

    ``first_token`` is the latest for the first token that is said: the pieces of a tool call move nothing beyond it.
    """

    total: float
    first_token: float
    next_token: float
    waiting_for: str = 'first token'

    @classmethod
    def until(cls, total: float, first_token: float) -> Deadlines:
        """The deadlines of a request that begins."""
        return cls(total, first_token, first_token)

    def remaining(self, now: float) -> float:
        """How long the next token may take (s)."""
        return max(0.0, min(self.total, self.next_token) - now)

    def error(self, now: float) -> L2Timeout:
        """What to raise once nothing remains."""
        return L2Timeout(f'no {"end of the answer" if now >= self.total else self.waiting_for} in time')

    def spoken(self, next_token: float) -> Deadlines:
        """A token has been said; the next is due by then."""
        return replace(self, first_token=self.total, next_token=next_token, waiting_for='further token')

    def called(self, next_token: float) -> Deadlines:
        """A piece of a tool call has come, or of what may be one; the next is due by then."""
        return replace(self, next_token=min(next_token, self.first_token))

    def finished(self, tail: float) -> Deadlines:
        """The answer is whole; what follows it is due by then."""
        return replace(self, next_token=tail, waiting_for='usage')
