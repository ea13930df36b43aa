"""A visitor of a real fleet: asks turn after turn, and notes when each piece of an answer arrives."""
from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import anyio
import httpx

from pace_ros.llm.sse import SseParser

PATIENCE = 180.0  # s for a whole turn
SESSION = 'x-session-id'
ANSWERED, REFUSED, FAILED, CUT, HUNG = 'answered', 'refused', 'failed', 'cut', 'hung'


@dataclass
class Heard:
    """What a client saw of one turn. Instants are monotonic, s; ``status`` is HTTP's, 0 without a response."""

    sent: float
    status: int = 0
    text: str = ''
    pieces: list[float] = field(default_factory=list)
    error: str = ''
    ended: bool = False
    hung: bool = False
    retry_after: float = 0.0
    prompt: int = 0
    cached: int = 0

    @property
    def outcome(self) -> str:
        """``answered``; ``refused`` before a first piece or ``failed`` after it, in words; ``cut`` without a word or an
        end; ``hung`` for longer than patience lasts.
        """
        if self.hung:
            return HUNG
        if self.ended and not self.error:
            return ANSWERED
        if not self.error:
            return CUT
        return FAILED if self.pieces else REFUSED

    @property
    def ttfet(self) -> float:
        """From the request to the first piece that can be seen, s; infinite if there is none."""
        return self.pieces[0] - self.sent if self.pieces else float('inf')

    def worst_gap(self, since: float, until: float) -> float:
        """The longest wait between two pieces that ended after ``since`` or was under way at ``until``, s."""
        instants = [each for each in self.pieces if each <= until] + [until]
        gaps = [later - max(earlier, since) if later >= until else later - earlier
                for earlier, later in pairwise(instants) if later > since]
        return max(gaps, default=0.0)


class Visitor:
    """One conversation with the gateway at ``base_url`` (with /v1). What was answered is in its history."""

    def __init__(self, http: httpx.AsyncClient, base_url: str, conversation: str, system: str = '') -> None:
        self.conversation = conversation
        self.messages: list[dict[str, str]] = [{'role': 'system', 'content': system}] if system else []
        self._http = http
        self._base_url = base_url

    async def ask(self, text: str, *, heard: Heard | None = None, patience: float = PATIENCE, **fields: Any) -> Heard:
        """One turn, streamed at temperature 0; ``heard`` can be watched meanwhile, ``fields`` go into the body."""
        messages = [*self.messages, {'role': 'user', 'content': text}]
        heard = heard if heard is not None else Heard(0.0)
        heard.sent = time.monotonic()
        body = {'messages': messages, 'stream': True, 'stream_options': {'include_usage': True}, 'temperature': 0.0,
                **fields}
        with anyio.move_on_after(patience) as scope:
            await self._stream(body, heard)
        heard.hung = scope.cancelled_caught
        if heard.outcome == ANSWERED:
            self.messages = [*messages, {'role': 'assistant', 'content': heard.text}]
        return heard

    async def end(self) -> int:
        """Tell the gateway that the visitor has left; its status."""
        return (await self._http.delete(f'{self._base_url}/conversations/{self.conversation}')).status_code

    async def _stream(self, body: Mapping[str, Any], heard: Heard) -> None:
        parser = SseParser()
        try:
            async with self._http.stream('POST', f'{self._base_url}/chat/completions', json=body,
                                         headers={SESSION: self.conversation}) as response:
                heard.status = response.status_code
                if response.status_code != httpx.codes.OK:
                    heard.retry_after = float(response.headers.get('retry-after') or 0.0)
                    heard.error = error_of(await response.aread())
                    return
                async for piece in response.aiter_bytes():
                    for payload in parser.feed(piece):
                        take(payload, heard)
        except httpx.HTTPError as error:
            if heard.status == 0:
                heard.error = f'{type(error).__name__}: {error}'


def take(payload: str, heard: Heard) -> None:
    """One event of a stream."""
    if payload == '[DONE]':
        heard.ended = True
        return
    chunk = json.loads(payload)
    if 'error' in chunk:
        heard.error = str(chunk['error'].get('message', chunk['error']))
        return
    for choice in chunk.get('choices') or ():
        if content := (choice.get('delta') or {}).get('content'):
            heard.text += content
            heard.pieces.append(time.monotonic())
    if usage := chunk.get('usage'):
        heard.prompt = int(usage['prompt_tokens'])
        heard.cached = int((usage.get('prompt_tokens_details') or {}).get('cached_tokens') or 0)


def error_of(content: bytes) -> str:
    """The message of a refusal; empty where there is none that a person could read."""
    try:
        return str(json.loads(content)['error']['message'])
    except (ValueError, KeyError, TypeError):
        return ''
