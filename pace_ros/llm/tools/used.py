"""What the tools of one answer were used for."""
from __future__ import annotations

from dataclasses import dataclass, field

from pace_ros.retrieval import RetrievalHit
from pace_ros.turn import ToolUse


@dataclass
class ToolsUsed:
    """Filled in round by round. ``uses`` are the calls made, ``hits`` the knowledge they found, ``live`` the called
    tools whose answers age. ``acted``: one has changed something in the world, or may have; so it is while one runs
    that can. ``ahead``: the visitor has not finished asking, so that none such may be called.
    """

    rounds: int = 0
    uses: list[ToolUse] = field(default_factory=list)
    hits: list[RetrievalHit] = field(default_factory=list)
    live: tuple[str, ...] = ()
    acted: bool = False
    ahead: bool = False
