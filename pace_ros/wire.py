"""What lies between the robot and its language model: the network, a recording of it, or a recording played back."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import httpx

from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.llm import Endpoint
from pace_ros.llm.replayed import ReplayTransport
from pace_ros.llm.traffic import Exchanged, RecordingTransport, Wire
from pace_ros.settings import ConfigError


def open_transport(
    config: Callable[[], Config],
    endpoints: Sequence[Endpoint],
    given: httpx.AsyncBaseTransport | None,
    on_exchange: Callable[[Exchanged], None],
    clock: Clock,
) -> httpx.AsyncBaseTransport | None:
    """What the chat clients send through; None is the network, untouched.

    ``given`` takes the network's place; with ``l2.replay`` a bag does; with ``record.l2`` everything is also told to
    ``on_exchange``, as long as ``record.text`` allows it. Raises ConfigError for a bag without L2 traffic, BagError for
    what is no bag.
    """
    bag = config().l2.replay
    transport = ReplayTransport(_recorded(bag), clock=clock) if bag else given
    if not config().record.l2:
        return transport
    return RecordingTransport(
        transport or Wire(trust_env=not all(each.is_local for each in endpoints)), on_exchange,
        wanted=lambda: config().record.text, clock=clock, keys=[each.api_key for each in endpoints if each.api_key],
    )


def _recorded(bag: str) -> list[Exchanged]:
    try:
        from pace_ros.bags.l2_traffic import exchanges_of  # noqa: PLC0415  bags are among the study tools
    except ImportError as error:
        raise ConfigError(f"Parameter 'l2.replay' needs the package rosbags: {error}.") from error
    exchanges = exchanges_of(Path(bag).expanduser())
    if not exchanges:
        raise ConfigError(f"Parameter 'l2.replay': {bag} holds no L2 traffic; it was recorded without record.l2.")
    return exchanges
