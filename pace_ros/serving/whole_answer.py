"""The chunks of a streamed answer put together to a whole one."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pace_ros.serving.usage import Chunk


def whole_answer(chunks: Iterable[Chunk]) -> dict[str, Any]:
    """A ``chat.completion`` of its ``chat.completion.chunk``s; calls of tools are put together by their index.

    ``content`` is null beside calls without words, as with OpenAI, else a string.
    """
    answer: dict[str, Any] = {'object': 'chat.completion'}
    message: dict[str, Any] = {'role': 'assistant', 'content': ''}
    calls: dict[int, dict[str, Any]] = {}
    finish: str | None = None
    logprobs: list[Any] = []
    for chunk in chunks:
        answer |= {name: chunk[name] for name in ('id', 'created', 'model', 'usage') if chunk.get(name) is not None}
        for choice in chunk.get('choices') or ():
            delta = choice.get('delta') or {}
            for name in ('content', 'reasoning_content'):
                if delta.get(name):
                    message[name] = message.get(name, '') + delta[name]
            for call in delta.get('tool_calls') or ():
                _add_call(calls.setdefault(int(call.get('index', 0)), {}), call)
            logprobs += (choice.get('logprobs') or {}).get('content') or ()
            finish = choice.get('finish_reason') or finish
    if calls:
        message |= {'content': message['content'] or None, 'tool_calls': [calls[index] for index in sorted(calls)]}
    choice = {'index': 0, 'message': message, 'finish_reason': finish}
    return {**answer, 'choices': [{**choice, 'logprobs': {'content': logprobs}} if logprobs else choice]}


def _add_call(call: dict[str, Any], piece: Mapping[str, Any]) -> None:
    for name in ('id', 'type'):
        if piece.get(name):
            call[name] = piece[name]
    function, more = call.setdefault('function', {'name': '', 'arguments': ''}), piece.get('function') or {}
    for name in ('name', 'arguments'):
        function[name] += more.get(name) or ''
