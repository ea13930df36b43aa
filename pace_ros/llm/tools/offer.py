"""What one request offers the model to call."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Offer:
    """The declared tools of one round and the instants (monotonic, s) that hold over all rounds of a turn.

    ``may_call`` is False in the last round: the tools stay declared, as some servers refuse a history of calls without
    them, but the model is to answer.
    """

    tools: Sequence[Mapping[str, object]]
    names: tuple[str, ...]
    may_call: bool
    first_token_by: float
    total_by: float

    def fields(self) -> dict[str, object]:
        """What is added to the request."""
        return {'tools': list(self.tools), 'tool_choice': 'auto' if self.may_call else 'none'}
