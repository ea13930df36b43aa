"""A tool call of the model, and how it is told back to it."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pace_ros.llm.fit import fit

UNREADABLE = 'unknown'  # how a call without a name is told back


@dataclass(frozen=True)
class CallDelta:
    """A piece of a call in one chunk of a stream; ``index`` is None where the server counts no calls."""

    index: int | None = None
    call_id: str = ''
    name: str = ''
    arguments: str = ''


@dataclass(frozen=True)
class ToolCall:
    """One call. ``arguments`` are as the model wrote them; ``leaked``: they stood in the text of its answer."""

    call_id: str
    name: str
    arguments: str
    leaked: bool = False

    def fields(self) -> dict[str, object]:
        """The call as a request's history holds it: what is no JSON object is left out, which servers refuse."""
        arguments = self.arguments if is_object(self.arguments) else '{}'
        function = {'name': self.name or UNREADABLE, 'arguments': arguments}
        return {'id': self.call_id, 'type': 'function', 'function': function}


def asked_for(text: str, calls: Sequence[ToolCall]) -> dict[str, object]:
    """The model's own message with what it said and what it called."""
    return {'role': 'assistant', 'content': text, 'tool_calls': [call.fields() for call in calls]}


def answered(call: ToolCall, text: str) -> dict[str, object]:
    """The message with a call's result, or with what went wrong, in words."""
    return {'role': 'tool', 'tool_call_id': call.call_id, 'content': text}


def read_object(text: str) -> Mapping[str, object]:
    """The JSON object a model wrote as arguments: none at all is an empty one, one in a JSON string is unwrapped.

    Raises ValueError with words fit for the model.
    """
    value: object = text.strip() or '{}'
    for _ in range(2):  # some models write the object into a string
        if isinstance(value, str):
            try:
                value = json.loads(value, parse_constant=_no_constant)
            except (ValueError, RecursionError) as error:
                raise ValueError(f'the arguments are not valid JSON: {text[:100]!r}') from error
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004  it is what the model wrote that is wrong
            f'the arguments must be a JSON object, not {text[:100]!r}'
        )
    fitted: dict[str, object] = json.loads(fit(json.dumps(value, ensure_ascii=False)))
    return fitted


def _no_constant(name: str) -> None:
    raise ValueError(f'{name} is no JSON')


def is_object(text: str) -> bool:
    """Whether a text is a JSON object."""
    try:
        return isinstance(json.loads(text, parse_constant=_no_constant), dict)
    except (ValueError, RecursionError):
        return False
