"""What has happened at the gateway, counted for its metrics."""
from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Tally:
    """Turns, refusals, hand-overs and deaths since the start; tokens by where they came from. ``hung_up``: turns whose
    client did not wait for the end; ``slow``: calls that took too long or failed, by replica; ``drift``: tokens that
    the ledger took for held and a server did not find.
    """

    turns: int = 0
    refused: int = 0
    too_long: int = 0
    failed: int = 0
    hung_up: int = 0
    handed_over: int = 0
    hand_overs_failed: int = 0
    rebound: int = 0
    deaths: int = 0
    read: int = 0
    cached: int = 0
    answered: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    slow: dict[str, int] = field(default_factory=dict)
    drift_at: dict[str, int] = field(default_factory=dict)

    @property
    def drift(self) -> int:
        """Of all replicas."""
        return sum(self.drift_at.values())

    def was_refused(self, *, too_long: bool) -> None:
        """One more turn has not come in."""
        if too_long:
            self.too_long += 1
        else:
            self.refused += 1

    def conversation_ended(self, why: str) -> None:
        """One more has ended so."""
        self.ended[why] = self.ended.get(why, 0) + 1

    def drifted(self, replica: str, tokens: int) -> None:
        """So many more were not found there."""
        self.drift_at[replica] = self.drift_at.get(replica, 0) + tokens

    def was_slow(self, replica: str) -> None:
        """One more call took too long there, or failed."""
        self.slow[replica] = self.slow.get(replica, 0) + 1
