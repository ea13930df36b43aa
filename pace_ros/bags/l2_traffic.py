"""The exchanges with the language model that a bag holds."""
from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

from pace_ros.bags.reading import BagError, read_messages
from pace_ros.clock import seconds
from pace_ros.llm.traffic import Exchanged

TYPE = 'pace_msgs/msg/L2Traffic'


def exchanges_of(path: Path) -> list[Exchanged]:
    """The recorded exchanges in the order in which they began; none if ``record.l2`` was off. Raises BagError."""
    exchanges = [_exchanged(path, each.message) for each in read_messages(path, types=[TYPE])]
    return sorted(exchanges, key=lambda each: each.begun_wall)


def _exchanged(path: Path, message: Any) -> Exchanged:
    stamp = message.header.stamp
    body = bytes(message.body)
    sizes, times = [int(size) for size in message.sizes], tuple(float(time) for time in message.times)
    exchanged = Exchanged(
        begun_wall=seconds(stamp),
        request=message.request,
        status=int(message.status),
        content_type=message.content_type,
        retry_after=message.retry_after,
        chunks=_cut(body, sizes),
        times=times,
        ended=float(message.ended),
        error=message.error,
        abandoned=bool(message.abandoned),
    )
    instants = [0.0, *times, exchanged.ended]
    in_order = all(map(math.isfinite, instants)) and all(one <= other for one, other in pairwise(instants))
    if sum(sizes) != len(body) or len(sizes) != len(times) or not in_order:
        raise BagError(f'{path}: bytes, sizes and times of the L2 exchange that began at {exchanged.begun_wall:.3f} s '
                       'do not fit together.')
    return exchanged


def _cut(body: bytes, sizes: list[int]) -> tuple[bytes, ...]:
    begin, chunks = 0, []
    for size in sizes:
        chunks.append(body[begin : begin + size])
        begin += size
    return tuple(chunks)
