"""One chunk of a streamed chat completion, reduced to what the robot needs."""
from __future__ import annotations

import json
from dataclasses import dataclass

from pace_ros.language import is_blank
from pace_ros.llm.errors import L2Malformed, L2Refused
from pace_ros.llm.fit import fit
from pace_ros.llm.tools.call import CallDelta


def without_leading_blanks(text: str) -> str:
    """Without what shows nothing at its beginning: white space, but also zero-width characters."""
    return text[next((i for i, char in enumerate(text) if not is_blank(char)), len(text)):]


@dataclass(frozen=True)
class Delta:
    """``text`` is answer text only: reasoning, tool calls and roles are no answer (design section 6)."""

    text: str = ''
    finish_reason: str = ''
    tokens_in: int = 0
    tokens_out: int = 0
    calls: tuple[CallDelta, ...] = ()


def parse_delta(payload: str) -> Delta:
    """Read one chunk. Raises L2Refused for an error object, L2Malformed for what is no chunk."""
    try:
        chunk = json.loads(payload, strict=False)
    except (ValueError, RecursionError) as error:
        raise L2Malformed(f'no JSON in the stream: {payload[:80]!r}') from error
    if not isinstance(chunk, dict):
        raise L2Malformed(f'no chunk in the stream: {payload[:80]!r}')
    if chunk.get('error'):
        refusal = chunk['error']
        message = refusal.get('message', refusal) if isinstance(refusal, dict) else refusal
        raise L2Refused(f'error in the stream: {str(message)[:200]}')
    usage = chunk.get('usage')
    usage = usage if isinstance(usage, dict) else {}
    choices = chunk.get('choices')
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    delta = choice.get('delta')
    text = delta.get('content') if isinstance(delta, dict) else None
    return Delta(
        text=fit(text),
        finish_reason=str(choice.get('finish_reason') or ''),
        tokens_in=_count(usage.get('prompt_tokens')),
        tokens_out=_count(usage.get('completion_tokens')),
        calls=_calls(delta.get('tool_calls')) if isinstance(delta, dict) else (),
    )


def _calls(listed: object) -> tuple[CallDelta, ...]:
    """The pieces of tool calls; servers leave out what has not changed, and some send arguments as an object."""
    calls = []
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, dict):
            index, function = each.get('index'), each.get('function')
            function = function if isinstance(function, dict) else {}
            given = function.get('arguments')
            if isinstance(given, dict):
                given = json.dumps(given, ensure_ascii=False)
            calls.append(CallDelta(
                index if isinstance(index, int) else None, fit(each.get('id')), fit(function.get('name')), fit(given)
            ))
    return tuple(calls)


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


class AnswerText:
    """Lets only informative text through: leading blanks and a leading ``<think>`` block are held back."""

    _OPEN, _CLOSE = '<think>', '</think>'

    def __init__(self) -> None:
        self._held = ''
        self.started = False

    def feed(self, text: str) -> str:
        """Take the next answer text and return what may be said of it."""
        if self.started:
            return text
        self._held += text
        rest = without_leading_blanks(self._held)
        if rest.startswith(self._OPEN):
            _, closed, rest = rest.partition(self._CLOSE)
            rest = without_leading_blanks(rest) if closed else ''
        elif self._OPEN.startswith(rest):
            return ''  # nothing yet, or perhaps the beginning of the tag
        self.started = bool(rest)
        return rest

    def flush(self) -> str:
        """Return what was held back in doubt, at the end of the stream."""
        rest = '' if self.started else without_leading_blanks(self._held)
        return '' if rest.startswith(self._OPEN) else rest
