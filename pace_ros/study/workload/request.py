"""One question at one instant of a run."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.study.datasets.question import Question

WARM_UP = 'warm-up'
MEASURED = 'measured'


@dataclass(frozen=True)
class Request:
    """What is asked when.

    ``at`` is the intended send time (s since the run began): the final transcript leaves the recogniser. ``hypotheses``
    are its unfinished ones, as (s before ``at``, words), in order. ``concurrency`` is the offered one, c; ``phase`` is
    warm-up, measured, or the name of a phase of a ramp. ``seen``: its meaning was asked before in this stream.
    """

    index: int
    at: float
    question: Question
    concurrency: float
    phase: str = MEASURED
    seen: bool = False
    hypotheses: tuple[tuple[float, str], ...] = ()
