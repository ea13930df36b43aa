from contextlib import aclosing

import pytest
from support import answer, scripted_cloud

from pace_ros.clock import SystemClock
from pace_ros.config import L2
from pace_ros.llm import ChatClient, Completion, Endpoint


@pytest.mark.anyio
async def test_pieces_arrive_in_order() -> None:
    async with scripted_cloud(answer('Hello', ' there.')) as cloud:
        client = ChatClient(Endpoint(cloud.base_url, 'm'), L2, SystemClock())
        report = Completion()
        async with aclosing(client.stream([{'role': 'user', 'content': 'hi'}], report)) as pieces:
            assert [piece async for piece in pieces] == ['Hello', ' there.']
        assert report.whole
        assert (report.tokens_in, report.tokens_out) == (11, 2)
        await client.aclose()
