"""Runs the calls of one round, each within its deadline, and tells what came of them in words."""
from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import anyio

from pace_ros.clock import Clock
from pace_ros.llm.fit import fit
from pace_ros.llm.tools.call import ToolCall, read_object
from pace_ros.llm.tools.tool import Tool, ToolFailed, ToolResult
from pace_ros.retrieval import RetrievalHit
from pace_ros.turn import ToolUse

log = logging.getLogger(__name__)
MOST_AT_ONCE = 8  # calls of one round
# Begins a special token or a tag of most models' templates, which no result may bring into the prompt.
_LOOK_ALIKE = re.compile(r'<(?=[|｜/A-Za-z])|\[(?=/?[A-Z_]{3})')
_UNSURE = 'it is not known whether it was done; do not call it again'


@dataclass(frozen=True)
class Outcome:
    """What the model is told of one call, and what is remembered of it. ``acted``: it has changed something in the
    world, or may have.
    """

    text: str
    use: ToolUse
    hits: tuple[RetrievalHit, ...] = ()
    acted: bool = False


Done = dict[tuple[str, str], Outcome]  # calls of tools with effects, by name and arguments


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

    async def run(
        self, calls: Sequence[ToolCall], *, locale: str, number: int, seconds: float, done: Done | None = None
    ) -> list[Outcome]:
        """Run the calls of round ``number`` together, within ``seconds``; the outcomes are in the order of the calls.

        A tool with effects is called once with the same arguments: another call of this round, or one that is in
        ``done``, to which what was or may have been done is added, is told what came of the first. Cancelling it ends
        what runs.
        """
        done = {} if done is None else done
        outcomes: dict[int, Outcome] = {}
        once = [self._once(call) for call in calls]

        async def run_one(place: int, call: ToolCall) -> None:
            outcomes[place] = await self._run_one(call, locale, number, seconds, place)

        async with anyio.create_task_group() as group:
            for place, call in enumerate(calls):
                if once[place] is None or (once[place] not in done and once[place] not in once[:place]):
                    group.start_soon(run_one, place, call, name=f'tool {call.name}')
        firsts = {**done, **{key: outcomes[place] for place, key in enumerate(once) if key and place in outcomes}}
        for place, key in enumerate(once):
            if key is not None and firsts[key].acted:
                done.setdefault(key, firsts[key])
            if key is not None and place not in outcomes:
                first = firsts[key]
                outcomes[place] = replace(first, use=replace(first.use, round=number, seconds=0.0))
        return [outcomes[place] for place in range(len(calls))]

    async def aclose(self) -> None:
        """Close every tool."""
        for tool in self.tools:
            await tool.aclose()

    def _once(self, call: ToolCall) -> tuple[str, str] | None:
        """What makes a call the same as another, None for one that may be made again."""
        if not self.has_effects([call]):
            return None
        try:
            return call.name, json.dumps(read_object(call.arguments), sort_keys=True)
        except ValueError:
            return None

    async def _run_one(self, call: ToolCall, locale: str, number: int, seconds: float, place: int) -> Outcome:
        begin, error, sent = self.clock.monotonic(), '', False
        result = ToolResult('')
        try:
            tool = self._tool_of(call, place)
            arguments = tool.spec.check.read(call.arguments)
            seconds = min(seconds, tool.spec.timeout)
            with anyio.fail_after(seconds):
                result = await tool.call(arguments, locale)
        except ToolFailed as problem:
            error, sent = str(problem), problem.sent
        except ValueError as problem:
            error = str(problem)
        except TimeoutError:
            error, sent = f'no result within {seconds:.1f} s', True
        except Exception as problem:
            log.exception('tool %s failed', call.name)
            error, sent = f'it failed ({type(problem).__name__})', True
        acted = (sent or not error) and self.has_effects([call])
        if acted and error:
            error = f'{error}; {_UNSURE}'
        text = f'Error: {error}.' if error else result.text or 'The result is empty.'
        use = ToolUse(call.name, number, self.clock.monotonic() - begin, fit(error), leaked=call.leaked)
        return Outcome(_LOOK_ALIKE.sub(r'\g<0> ', fit(text)), use, result.hits, acted)

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
