"""Runs the calls of one round, each within its deadline, and tells what came of them in words."""
from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from pace_ros.clock import Clock
from pace_ros.llm.tools.call import ToolCall
from pace_ros.llm.tools.tool import Tool, ToolFailed
from pace_ros.retrieval import RetrievalHit
from pace_ros.turn import ToolUse

log = logging.getLogger(__name__)
MOST_AT_ONCE = 8  # calls of one round
LOOK_ALIKE = '<|'  # begins a special token of most models, which no result may bring into the prompt


@dataclass(frozen=True)
class Outcome:
    """What the model is told of one call, and what is remembered of it."""

    text: str
    use: ToolUse
    hits: tuple[RetrievalHit, ...] = ()


@dataclass
class Toolbox:
    """The tools there are. ``turn_timeout`` is how long all calls of one turn may take together (s)."""

    tools: Sequence[Tool]
    turn_timeout: float
    clock: Clock
    _by_name: dict[str, Tool] = field(init=False)

    def __post_init__(self) -> None:
        self._by_name = {tool.spec.name: tool for tool in self.tools}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools."""
        return tuple(self._by_name)

    def fields(self) -> list[dict[str, object]]:
        """The tools as a request declares them."""
        return [tool.spec.fields() for tool in self.tools]

    def has_effects(self, calls: Sequence[ToolCall]) -> bool:
        """Whether any of these calls may change something in the world."""
        return any(call.name in self._by_name and self._by_name[call.name].spec.effects for call in calls)

    def live(self, calls: Sequence[ToolCall]) -> tuple[str, ...]:
        """The names of the called tools whose answers age."""
        known = {call.name: self._by_name[call.name] for call in calls if call.name in self._by_name}
        return tuple(name for name, tool in known.items() if tool.spec.live)

    async def run(self, calls: Sequence[ToolCall], *, locale: str, number: int, seconds: float) -> list[Outcome]:
        """Run the calls of round ``number`` together, within ``seconds``; the outcomes are in the order of the calls.

        Cancelling it ends what runs.
        """
        outcomes: list[Outcome | None] = [None] * len(calls)

        async def run_one(place: int, call: ToolCall) -> None:
            outcomes[place] = await self._run_one(call, locale, number, seconds, place)

        async with anyio.create_task_group() as group:
            for place, call in enumerate(calls):
                group.start_soon(run_one, place, call, name=f'tool {call.name}')
        return [outcome for outcome in outcomes if outcome is not None]

    async def aclose(self) -> None:
        """Close every tool."""
        for tool in self.tools:
            await tool.aclose()

    async def _run_one(self, call: ToolCall, locale: str, number: int, seconds: float, place: int) -> Outcome:
        begin, error, timeout = self.clock.monotonic(), '', seconds
        hits: tuple[RetrievalHit, ...] = ()
        try:
            tool = self._tool_of(call, place)
            arguments = tool.spec.check.read(call.arguments)
            timeout = min(seconds, tool.spec.timeout)
            with anyio.fail_after(timeout):
                result = await tool.call(arguments, locale)
            text, hits = result.text.replace(LOOK_ALIKE, '< |') or 'The result is empty.', result.hits
        except (ToolFailed, ValueError) as problem:
            error = str(problem)
        except TimeoutError:
            error = f'no result within {timeout:.1f} s'
        except Exception as problem:
            log.exception('tool %s failed', call.name)
            error = f'it failed ({type(problem).__name__})'
        if error:
            text = f'Error: {error}.'
        elapsed = self.clock.monotonic() - begin
        return Outcome(text, ToolUse(call.name, number, elapsed, error, leaked=call.leaked), hits)

    def _tool_of(self, call: ToolCall, place: int) -> Tool:
        if place >= MOST_AT_ONCE:
            raise ToolFailed(f'at most {MOST_AT_ONCE} calls at once')
        tool = self._by_name.get(call.name)
        if tool is None:
            there = ', '.join(self._by_name)
            if not call.name:
                raise ToolFailed(f'the call could not be read: {call.arguments[:100]!r}; the tools are: {there}')
            raise ToolFailed(f'there is no tool {call.name[:64]!r}; the tools are: {there}')
        return tool
