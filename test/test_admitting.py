"""Which answers that tools had a part in are kept for other visitors: none that is one visitor's or one moment's."""
from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import cast

import pytest
from harness import FOX, LIGHTHOUSE, MUSIC, House, open_house
from support import answer, scripted_cloud
from tool_house import SEARCH, tool_house

from pace_ros.embedding import Embedder
from pace_ros.llm import Completion
from pace_ros.llm.tools.call import ToolCall
from pace_ros.llm.tools.rounds import ToolRounds
from pace_ros.llm.tools.used import ToolsUsed
from pace_ros.turn import Path, ToolUse

pytestmark = pytest.mark.anyio
CALL = ToolCall('c1', 'price', '{}')


@dataclass
class Rounds:
    """Tool rounds that come out as told, one turn after the other: the answer, what was used, what is still called."""

    turns: list[tuple[str, ToolsUsed, tuple[ToolCall, ...]]] = field(default_factory=list)

    async def stream(
        self, _messages: Sequence[object], report: Completion, *, conversation: str, locale: str
    ) -> AsyncGenerator[str, None]:
        assert (len(conversation), locale) == (32, 'en-US')
        text, report.used, report.calls = self.turns.pop(0)
        report.attempts, report.finish_reason = 1, 'stop'
        report.breaker_before = report.breaker_after = 'closed'
        yield text


def give(house: House, *turns: tuple[str, ToolsUsed, tuple[ToolCall, ...]]) -> None:
    house.levels.tools = cast(ToolRounds, Rounds(list(turns)))


@pytest.mark.parametrize(('text', 'used', 'calls', 'reason'), [
    ('A fox.', ToolsUsed(), (), ''),
    ('A fox.', ToolsUsed(rounds=1, uses=[ToolUse('search', 1, 0.1)]), (), ''),
    ('A fox.', ToolsUsed(live=('price', 'stock')), (), 'tool: price, stock'),
    ('A fox.', ToolsUsed(acted=True), (), 'tool: something was done for this visitor'),
    ('A fox.', ToolsUsed(uses=[ToolUse('search', 1, 0.1), ToolUse('map', 1, 0.1, 'no result within 2.0 s')]), (),
     'tool failed: map'),
    ('A fox.', ToolsUsed(uses=[ToolUse('', 1, 0.0, 'the call could not be read')]), (), 'tool failed: unknown'),
    ('Let me see.', ToolsUsed(), (CALL,), 'unsound: it calls a tool'),
    ('A fox. <invoke name="price">', ToolsUsed(), (), 'unsound: it calls a tool'),
    ('A fox. "tool_call_id": "c1"', ToolsUsed(), (), 'unsound: it calls a tool'),
])
async def test_an_answer_of_tools_is_kept_if_it_is_anybody_s_at_any_time(
    tmp_path: FilePath, embedder: Embedder, text: str, used: ToolsUsed, calls: tuple[ToolCall, ...], reason: str
) -> None:
    async with scripted_cloud(answer('')) as cloud, open_house(
        tmp_path, embedder, cloud, {'volatility.policy': 'off'}
    ) as house:
        give(house, (text, used, calls))
        record = await house.ask(FOX)
        assert record.answer == text
        assert (record.admitted, record.admission_reason if reason else '') == (not reason, reason)


async def test_what_a_live_tool_said_stays_out_however_many_turns_it_passes_through(
    tmp_path: FilePath, embedder: Embedder
) -> None:
    """The third prompt holds the second answer alone, which may repeat the first."""
    async with scripted_cloud(answer('')) as cloud, open_house(
        tmp_path, embedder, cloud, {'volatility.policy': 'off', 'l2.history_turns': 1}
    ) as house:
        give(house, ('12,000.', ToolsUsed(live=('price',)), ()), *[('13,000.', ToolsUsed(), ())] * 2,
             ('A fox.', ToolsUsed(), ()))
        for question in (LIGHTHOUSE, MUSIC, FOX):
            assert not (await house.ask(question)).admitted
        other = await house.ask(FOX, 'another')
        assert (other.path, other.answer, other.admitted) == (Path.L2, 'A fox.', True)


async def test_without_tools_a_call_in_the_text_makes_it_no_answer(tmp_path: FilePath, embedder: Embedder) -> None:
    leaked = answer('One moment. ', '<tool_call>{"name": "search", "arguments": {}}</tool_call>')
    async with scripted_cloud(leaked) as cloud, open_house(tmp_path, embedder, cloud) as house:
        record = await house.ask(FOX)
        assert record.answer.strip() == 'One moment.'
        assert (record.admitted, record.admission_reason) == (False, 'unsound: it calls a tool')


async def test_an_answer_after_a_tool_that_failed_is_asked_for_again(tmp_path: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(SEARCH, answer('I could not look.'), answer('A fox.')) as cloud, tool_house(
        tmp_path, embedder, cloud
    ) as (house, _):
        async def broken(*_: object) -> None:
            raise OSError('disk')

        assert house.levels.tools is not None
        house.levels.tools._toolbox.tools[1].call = broken  # type: ignore[method-assign,assignment]
        record = await house.ask(FOX)
        assert (record.admitted, record.admission_reason) == (False, 'tool failed: search')
        assert (await house.ask(FOX, 'another')).answer.strip() == 'A fox.'
