"""What is compared: placement policies, some with another way for replicas to read."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SMALL_CHUNK = 256  # tokens: what is called a small prefill batch here


@dataclass(frozen=True)
class Arm:
    """``policy`` is one of the gateway's; ``chunk``: prompt tokens a step reads at most, None: as the hardware does;
    ``prefix_cache``: replicas find any prefix that they have read lately, not what a slot held last alone.
    """

    name: str
    policy: str
    title: str
    colour: str
    marker: str
    chunk: int | None = None
    prefix_cache: bool = False


PINNED, PREDICTED, COLLOCATED = 'pinned', 'predicted', 'collocated'
SMALL, DISAGGREGATED, PREFIX = 'collocated-small', 'disaggregated', 'disaggregated-prefix'
LEAST, ROUND = 'least-loaded', 'round-robin'
# Okabe and Ito's palette, as the other figures of the study
ARMS: Mapping[str, Arm] = {each.name: each for each in (
    Arm(PINNED, 'pinned', 'pinned (ConServe)', '#D55E00', 'o'),
    Arm(PREDICTED, 'predicted', 'predicted per turn', '#0072B2', 's'),
    Arm(COLLOCATED, 'collocated', 'collocated', '#009E73', '^'),
    Arm(SMALL, 'collocated', 'collocated, small batches', '#56B4E9', 'v', SMALL_CHUNK),
    Arm(DISAGGREGATED, 'disaggregated', 'disaggregated per turn', '#CC79A7', 'D'),
    Arm(PREFIX, 'disaggregated', 'disaggregated, prefix cache', '#8B4C9E', 'd', prefix_cache=True),
    Arm(LEAST, 'least-loaded', 'least loaded', '#E69F00', 'P'),
    Arm(ROUND, 'round-robin', 'round robin', '#7a7a7a', 'X'),
)}


def in_order(names: Iterable[str]) -> list[str]:
    """Each arm once, in the order above."""
    there = set(names)
    return [name for name in ARMS if name in there]


def title(name: str) -> str:
    """How an arm is called in tables and figures."""
    return ARMS[name].title if name in ARMS else name
