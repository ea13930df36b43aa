"""What is put to the arms of each part: one stream of requests for each data set, concurrency and seed."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pace_ros.study.datasets.question import Change, DataSet, Question
from pace_ros.study.evaluation.cell import Cell
from pace_ros.study.workload.arrivals import steady
from pace_ros.study.workload.hypotheses import spoken
from pace_ros.study.workload.ramp import ramp
from pace_ros.study.workload.request import WARM_UP, Request
from pace_ros.study.workload.stream import stream
from pace_ros.study.workload.traces import traced

HOUR = 3600.0
BLOCK = 100  # requests over which a share of instant answers is taken
STEADY_WARM_UP = 650  # requests: the gate needs eleven windows of 50 to close


@dataclass(frozen=True)
class Sizes:
    """How many requests, and over which time facts change (hours) while each is asked ``asked_an_hour`` times."""

    warm_up: int = 100
    measured: int = 500
    ramp_warm_up: int = 200
    ramp_phase: int = 150
    transfer_measured: int = 200
    change_hours: float = 2.0
    asked_an_hour: float = 4.0


def requests_of(
    cell: Cell, data: DataSet, sizes: Sizes, completion: float, trace: str = ''
) -> tuple[Request, ...]:
    """The stream of a cell; ``completion`` is the pure-LLM arm's mean (s), from which every rate follows. Arrivals are
    Poisson's, or those of a ``trace`` file brought to the same rate. Raises TraceError.
    """
    if cell.part == 'ramp':
        return stream(data, ramp(completion, seed=cell.seed, warm_up=sizes.ramp_warm_up, each=sizes.ramp_phase),
                      seed=cell.seed)
    warm_up = {'steady': STEADY_WARM_UP, 'cold': 0}.get(cell.part, sizes.warm_up)
    measured = sizes.transfer_measured if cell.part == 'transfer' else sizes.measured
    if trace and cell.part != 'steady':
        schedule = traced(
            Path(trace), cell.concurrency, completion, seed=cell.seed, warm_up=warm_up, measured=measured
        )
    else:
        schedule = steady(cell.concurrency, completion, seed=cell.seed, warm_up=warm_up, measured=measured)
    return stream(data, schedule, seed=cell.seed)


def changing(cell: Cell, data: DataSet, sizes: Sizes) -> tuple[tuple[Request, ...], tuple[tuple[float, Change], ...]]:
    """The stream of the volatility part, with its changes: every question once as warm-up, then at random while the
    facts change at random instants; one half in words used before, one half in others, as repeats in any stream.
    """
    chance = np.random.default_rng([cell.seed, 104])
    keys = list(data.wordings)
    begin = 2.0 * len(keys)
    end = begin + sizes.change_hours * HOUR
    count = round(sizes.asked_an_hour * sizes.change_hours * len(keys))
    times = [2.0 * place for place in range(len(keys))] + sorted(chance.uniform(begin, end, count).tolist())
    asked = [*range(len(keys)), *chance.integers(len(keys), size=count).tolist()]
    requests, used = list[Request](), dict[int, list[Question]]()
    for index, (at, key) in enumerate(zip(times, asked, strict=True)):
        before, wordings = used.setdefault(key, []), data.wordings[keys[key]]
        again = before and chance.random() < 0.5
        question = _any(before if again else [each for each in wordings if each not in before] or wordings, chance)
        before.append(question)
        phase = WARM_UP if index < len(keys) else 'measured'
        requests.append(Request(index, at, question, cell.concurrency, phase, index >= len(keys),
                                spoken(question.text, chance)))
    instants = sorted(chance.uniform(begin, end, len(data.changes)).tolist())
    return tuple(requests), tuple(zip(instants, data.changes, strict=True))


def _any(items: Sequence[Question], chance: np.random.Generator) -> Question:
    return items[int(chance.integers(len(items)))]


def steady_after(instant: Sequence[bool], *, block: int = BLOCK, tolerance: float = 0.05) -> int:
    """After how many requests the share of instant answers is steady: two blocks in a row that differ by at most
    ``tolerance``; all of them if it never is.
    """
    shares = [sum(instant[at:at + block]) / block for at in range(0, len(instant) - block + 1, block)]
    for place in range(1, len(shares)):
        if abs(shares[place] - shares[place - 1]) <= tolerance:
            return (place + 1) * block
    return len(instant)
