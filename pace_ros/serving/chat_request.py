"""What a client asks for, checked, and cut to what a replica is sent: no client names a slot or a file."""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pace_ros.serving.fleet import Limits

PASSED_ON = (
    'messages', 'temperature', 'top_p', 'top_k', 'min_p', 'seed', 'stop', 'presence_penalty', 'frequency_penalty',
    'response_format', 'tools', 'tool_choice', 'parallel_tool_calls', 'logit_bias', 'chat_template_kwargs',
)
ROLES = {'system', 'developer', 'user', 'assistant', 'tool'}


class RequestError(ValueError):
    """A request that cannot be served as it is; the message names the field."""


@dataclass(frozen=True)
class ChatRequest:
    """``body`` is what a replica is sent, ``fields`` all that the client sent."""

    body: Mapping[str, Any]
    fields: Mapping[str, Any]
    stream: bool
    include_usage: bool


def read_request(content: bytes, limits: Limits) -> ChatRequest:
    """A chat request from its bytes. Raises RequestError."""
    try:
        fields = json.loads(content)
    except ValueError as error:
        raise RequestError(f'The body is no JSON: {error}.') from None
    if not isinstance(fields, dict):
        raise RequestError('The body must be a JSON object.')
    _check_messages(fields.get('messages'))
    if fields.get('n', 1) != 1:
        raise RequestError(f"'n' must be 1, not {fields['n']!r}.")
    stream = fields.get('stream', False)
    if not isinstance(stream, bool):
        raise RequestError(f"'stream' must be true or false, not {stream!r}.")
    options = fields.get('stream_options')
    body = {name: fields[name] for name in PASSED_ON if fields.get(name) is not None}
    body['max_tokens'] = _answer(fields, limits)
    return ChatRequest(body, fields, stream, isinstance(options, Mapping) and bool(options.get('include_usage')))


def _check_messages(messages: object) -> None:
    if not isinstance(messages, list) or not messages:
        raise RequestError("'messages' must be a list that is not empty.")
    for number, each in enumerate(messages):
        if not isinstance(each, dict) or each.get('role') not in ROLES:
            raise RequestError(f"'messages[{number}]' must be an object with a role of {', '.join(sorted(ROLES))}.")


def _answer(fields: Mapping[str, Any], limits: Limits) -> int:
    """Tokens that it may be answered with."""
    for name in ('max_completion_tokens', 'max_tokens'):
        asked = fields.get(name)
        if asked is None:
            continue
        if not isinstance(asked, int) or isinstance(asked, bool) or asked < 1:
            raise RequestError(f"'{name}' must be a whole number of at least 1, not {asked!r}.")
        return min(asked, limits.answer)
    return limits.answer
