"""A chat request, read."""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pace_ros.language import count_tokens
from pace_ros.llm.completion import TOKENS_A_MESSAGE


class BadRequest(ValueError):
    """What was asked is no chat request; the message is fit for the client."""


@dataclass(frozen=True)
class Asked:
    """``messages`` have a role and a content each, the last one is the question. ``usage``: a stream ends with the
    number of tokens; ``limit``: the most tokens wanted.
    """

    messages: tuple[Mapping[str, str], ...]
    stream: bool
    usage: bool
    limit: int | None

    @classmethod
    def read(cls, body: bytes) -> Asked:
        """Read the body of a request. Raises BadRequest."""
        try:
            fields = json.loads(body)
        except (ValueError, RecursionError):
            raise BadRequest('The request is not JSON.') from None
        messages = fields.get('messages') if isinstance(fields, dict) else None
        if not isinstance(messages, list) or not messages:
            raise BadRequest("The request has no 'messages'.")
        for each in messages:
            if not isinstance(each, dict) or not all(isinstance(each.get(name), str) for name in ('role', 'content')):
                raise BadRequest("Every one of the 'messages' must have a 'role' and a 'content' that are text.")
        options = fields.get('stream_options')
        limit = fields.get('max_completion_tokens') or fields.get('max_tokens')
        return cls(
            tuple(messages),
            stream=fields.get('stream') is True,
            usage=isinstance(options, dict) and options.get('include_usage') is True,
            limit=limit if isinstance(limit, int) and limit > 0 else None,
        )

    @property
    def question(self) -> str:
        """The last message of the user."""
        return next((each['content'] for each in reversed(self.messages) if each['role'] == 'user'), '')

    @property
    def tokens(self) -> int:
        """What the prompt costs (an estimate)."""
        return sum(TOKENS_A_MESSAGE + count_tokens(each['content']) for each in self.messages)
