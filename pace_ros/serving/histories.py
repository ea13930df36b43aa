"""Which conversation a request belongs to where its client says nothing: the one whose history it goes on from."""
from __future__ import annotations

import hashlib
import json
import secrets
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import Any

Messages = Sequence[Mapping[str, Any]]


class Histories:
    """Each turn is found again by the history it ended with.

    A first turn always begins a conversation, so that two robots with the same opener never share one; where two
    histories are the same to the last word, so are their caches, and either may be taken once. A history that has been
    edited begins a conversation anew. The oldest are forgotten.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._ended: OrderedDict[str, str] = OrderedDict()  # conversation: its history
        self._by_history: dict[str, deque[str]] = {}
        self._taken: OrderedDict[str, str] = OrderedDict()

    def __len__(self) -> int:
        """Conversations that may go on."""
        return len(self._ended)

    def conversation(self, messages: Messages) -> str:
        """The conversation that these messages go on with, or a new one."""
        history = _history(messages)
        waiting = self._by_history.get(history) if history else None
        if not history or not waiting:
            return f'turn-{secrets.token_hex(16)}'
        conversation = waiting[0]
        self._forget(conversation)
        self._taken[conversation] = history
        while len(self._taken) > self._kept:
            self._taken.popitem(last=False)
        return conversation

    def ended(self, conversation: str, messages: Messages, answer: Mapping[str, Any]) -> None:
        """A turn has ended with this message: the conversation goes on from here."""
        self._taken.pop(conversation, None)
        self._keep(conversation, _digest([*messages, {**answer, 'role': 'assistant'}]))

    def unanswered(self, conversation: str) -> None:
        """A turn was refused, or failed: the conversation goes on from where it was before."""
        history = self._taken.pop(conversation, None)
        if history is not None:
            self._keep(conversation, history, first=True)

    def _keep(self, conversation: str, history: str, *, first: bool = False) -> None:
        self._forget(conversation)
        self._ended[conversation] = history
        waiting = self._by_history.setdefault(history, deque())
        if first:
            waiting.appendleft(conversation)
        else:
            waiting.append(conversation)
        while len(self._ended) > self._kept:
            self._forget(next(iter(self._ended)))

    def _forget(self, conversation: str) -> None:
        history = self._ended.pop(conversation, None)
        if history is None:
            return
        waiting = self._by_history[history]
        waiting.remove(conversation)
        if not waiting:
            del self._by_history[history]


def _history(messages: Messages) -> str:
    """What ended with the last answer; empty if there is none before the last message."""
    for length in range(len(messages) - 1, 0, -1):
        if messages[length - 1].get('role') == 'assistant':
            return _digest(messages[:length])
    return ''


def _digest(messages: Messages) -> str:
    plain = [[each.get('role'), _text(each.get('content')), _calls(each.get('tool_calls'))] for each in messages]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _calls(calls: object) -> object:
    """Names and arguments of tool calls; some clients make up their ids anew, or write arguments their own way."""
    if not isinstance(calls, list):
        return []
    functions = [each.get('function') if isinstance(each, Mapping) else each for each in calls]
    return [[each.get('name'), _value(each.get('arguments'))] if isinstance(each, Mapping) else each
            for each in functions]


def _value(arguments: object) -> object:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return arguments


def _text(content: object) -> object:
    """Clients strip what they show, and may write a text as null, or in parts: the words are the same."""
    if content is None:
        return ''
    if isinstance(content, list) and all(
        isinstance(part, Mapping) and part.get('type') == 'text' and isinstance(part.get('text'), str)
        for part in content
    ):
        content = ''.join(part['text'] for part in content)
    return content.strip() if isinstance(content, str) else content
