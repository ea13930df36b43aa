"""What has happened at the gateway, counted for its metrics."""
from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Tally:
    """Turns, refusals, hand-overs and deaths since the start; tokens by where they came from. ``drift``: tokens that
    the ledger took for held and a server did not find.
    """

    turns: int = 0
    refused: int = 0
    failed: int = 0
    handed_over: int = 0
    hand_overs_failed: int = 0
    rebound: int = 0
    deaths: int = 0
    read: int = 0
    cached: int = 0
    answered: int = 0
    drift: int = 0
    ended: dict[str, int] = field(default_factory=dict)

    def conversation_ended(self, why: str) -> None:
        """One more has ended so."""
        self.ended[why] = self.ended.get(why, 0) + 1
