"""What lies between the robot and its language model."""
from __future__ import annotations

from pathlib import Path as FilePath

import httpx
import pytest
from harness import FOX, LIGHTHOUSE, Ledger, until
from support import answer, scripted_cloud
from whole import ask, configured, speaker

from pace_ros.assembly import Assembly
from pace_ros.bags.storage import BagError
from pace_ros.clock import SystemClock, VirtualClock
from pace_ros.config import Config
from pace_ros.llm import Endpoint
from pace_ros.llm.traffic import Exchanged, RecordingTransport
from pace_ros.settings import with_values
from pace_ros.wire import open_transport

KEY = 'sk-0123456789abcdef'


class Given(httpx.AsyncBaseTransport):
    """Some transport."""


def opened(clock: VirtualClock, given: httpx.AsyncBaseTransport | None = None, **values: object) -> object:
    config = with_values(Config(), {name.replace('__', '.'): value for name, value in values.items()})
    endpoint = Endpoint('http://127.0.0.1:9/v1', 'm', KEY)
    return open_transport(lambda: config, [endpoint], given, lambda _exchanged: None, clock)


def test_the_network_is_untouched_unless_asked_otherwise(clock: VirtualClock) -> None:
    given = Given()
    assert opened(clock) is None
    assert opened(clock, given) is given
    assert isinstance(opened(clock, given, record__l2=True), RecordingTransport)
    assert isinstance(opened(clock, record__l2=True), RecordingTransport)


def test_a_recording_that_cannot_be_played_back_is_named(clock: VirtualClock, tmp_path: FilePath) -> None:
    with pytest.raises(BagError, match='nowhere'):
        opened(clock, l2__replay=str(tmp_path / 'nowhere'))


@pytest.mark.anyio
@pytest.mark.usefixtures('one_encoder', 'knowledge')
async def test_every_exchange_is_told_with_record_l2_and_none_without_record_text(tmp_path: FilePath) -> None:
    told: list[Exchanged] = []
    async with scripted_cloud(answer('Once', ' upon.')) as cloud:
        for text in (True, False):
            config = configured(tmp_path, cloud, record__l2=True, record__text=text)
            whole = Assembly(lambda config=config: config, SystemClock(), outlet=Ledger(), speaker=speaker(),  # type: ignore[misc]
                             on_traffic=told.append)
            try:
                await ask(whole, LIGHTHOUSE if text else FOX)
                await until(lambda: told)
            finally:
                await whole.aclose()
    (exchanged,) = told
    assert LIGHTHOUSE in exchanged.request
    assert (exchanged.status, exchanged.error, exchanged.abandoned) == (200, '', False)
    assert b'upon' in exchanged.body
