"""Which conversation a request belongs to: as the client says, else by the history it goes on from."""
from __future__ import annotations

import hashlib
import json
import secrets
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import Any

from pace_ros.serving.fleet import Identity

Messages = Sequence[Mapping[str, Any]]


class IdentityError(ValueError):
    """An identity that cannot be taken; the message names where it stands."""


def stated(headers: Mapping[str, str], body: Mapping[str, Any], settings: Identity) -> str | None:
    """The identity that a request states, None if it states none. Raises IdentityError."""
    for name in settings.headers:
        if value := headers.get(name, '').strip():
            return _checked(value, f'header {name}', settings.longest)
    for name in settings.fields:
        found = _field(body, name)
        if found is not None and found != '':
            return _checked(found, f'field {name}', settings.longest)
    return None


def _field(body: Mapping[str, Any], name: str) -> object:
    found: object = body
    for part in name.split('.'):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def _checked(value: object, where: str, longest: int) -> str:
    if not isinstance(value, str):
        raise IdentityError(f'The {where} must be a string, not {value!r}.')
    if len(value) > longest or not value.isprintable():
        raise IdentityError(f'The {where} must be printable and of at most {longest} characters.')
    return value


class Histories:
    """Identities of conversations whose clients state none: each turn is found again by the history it ended with.

    A first turn always begins a conversation, so that two robots with the same opener never share one; where two
    histories are the same to the last word, so are their caches, and either may be taken once.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._ended: OrderedDict[str, deque[str]] = OrderedDict()

    def conversation(self, messages: Messages) -> str:
        """The conversation that these messages go on with, or a new one."""
        for length in range(len(messages) - 1, 0, -1):
            if messages[length - 1].get('role') != 'assistant':
                continue
            waiting = self._ended.get(_digest(messages[:length]))
            if waiting:
                return waiting.popleft()
            break  # only the last answer tells where it stood
        return f'turn-{secrets.token_hex(16)}'

    def ended(self, conversation: str, messages: Messages, answer: str) -> None:
        """A turn has ended: the conversation goes on from here. The oldest are forgotten."""
        key = _digest([*messages, {'role': 'assistant', 'content': answer}])
        self._ended.setdefault(key, deque()).append(conversation)
        self._ended.move_to_end(key)
        while len(self._ended) > self._kept:
            self._ended.popitem(last=False)


def _digest(messages: Messages) -> str:
    plain = [[each.get('role'), _text(each.get('content'))] for each in messages]
    return hashlib.sha256(json.dumps(plain, ensure_ascii=False).encode()).hexdigest()


def _text(content: object) -> object:
    """Clients strip what they show; the words are the same."""
    return content.strip() if isinstance(content, str) else content
