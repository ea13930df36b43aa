"""Which cores each replica of a machine has, so that those that read do not take time from those that answer."""
from __future__ import annotations

import itertools
from collections.abc import Sequence


def shares(prefillers: int, decoders: int, cores: Sequence[int]) -> list[list[int]]:
    """The cores of each prefiller, then of each decoder. The two kinds share no core unless there is only one; a kind
    with fewer cores than replicas shares each of them.
    """
    if not prefillers or len(cores) == 1:
        return _dealt(prefillers + decoders, cores)
    reading = min(max(1, round(len(cores) * prefillers / (prefillers + decoders))), len(cores) - 1)
    return _dealt(prefillers, cores[:reading]) + _dealt(decoders, cores[reading:])


def _dealt(replicas: int, cores: Sequence[int]) -> list[list[int]]:
    if len(cores) < replicas:
        return [[cores[number % len(cores)]] for number in range(replicas)]
    ends = [len(cores) * number // replicas for number in range(replicas + 1)]
    return [list(cores[begin:end]) for begin, end in itertools.pairwise(ends)]
