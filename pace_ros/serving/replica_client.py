"""One llama.cpp server over HTTP: a prompt's length, answers from a slot, and slots to files and back."""
from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import httpx

from pace_ros.clock import Clock
from pace_ros.llm.sse import SseOverflow, SseParser
from pace_ros.serving.fleet import Deadlines, Replica
from pace_ros.serving.replica_errors import ReplicaDown, ReplicaError, ReplicaRefused, ReplicaSlow

Chunk = dict[str, Any]
DONE = '[DONE]'
ERROR_BYTES = 2000


@dataclass(frozen=True)
class Usage:
    """What a server says that an answer took: prompt tokens in all, of them found in the slot, and s to read the rest;
    tokens answered.
    """

    prompt: int
    cached: int
    answered: int
    reading: float

    @property
    def read(self) -> int:
        """Prompt tokens that were read anew."""
        return self.prompt - self.cached

    @property
    def held(self) -> int:
        """Tokens in the slot afterwards: the last one of the answer was never fed back."""
        return self.prompt + max(0, self.answered - 1)


def usage_of(chunk: Mapping[str, Any]) -> Usage | None:
    """The usage of a response or of its last chunk, None where there is none."""
    usage, timings = chunk.get('usage'), chunk.get('timings') or {}
    if not isinstance(usage, Mapping):
        return None
    prompt = int(usage.get('prompt_tokens') or 0)
    details = usage.get('prompt_tokens_details') or {}
    cached = int(timings.get('cache_n', details.get('cached_tokens') or 0))
    return Usage(prompt, cached, int(usage.get('completion_tokens') or 0), float(timings.get('prompt_ms') or 0.0) / 1e3)


class ReplicaClient:
    """Calls of one replica, each with its deadline. Nothing is kept alive: these servers close idle connections, and a
    loopback connection costs next to nothing.
    """

    def __init__(
        self, replica: Replica, deadlines: Deadlines, clock: Clock, *, api_key: str = '',
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.replica = replica
        self._deadlines = deadlines
        self._clock = clock
        self._http = httpx.AsyncClient(
            base_url=replica.url, transport=transport, trust_env=False,
            headers={'Authorization': f'Bearer {api_key}'} if api_key else {},
            limits=httpx.Limits(max_keepalive_connections=0), timeout=httpx.Timeout(None, connect=deadlines.connect),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def healthy(self) -> bool:
        """Whether it answers that it is well."""
        try:
            with anyio.fail_after(self._deadlines.connect):
                return (await self._http.get('/health')).status_code == httpx.codes.OK
        except (TimeoutError, httpx.HTTPError):
            return False

    async def count(self, body: Mapping[str, Any]) -> int:
        """The tokens of a request's prompt, as its template writes it. Raises ReplicaError."""
        asked = {key: body[key] for key in ('messages', 'tools') if key in body}
        written = await self._call('/apply-template', asked, self._deadlines.connect)
        tokens = await self._call('/tokenize', {'content': written['prompt'], 'add_special': True,
                                                'parse_special': True}, self._deadlines.connect)
        return len(tokens['tokens'])

    async def prefill(self, body: Mapping[str, Any], slot: int) -> Usage:
        """Read a prompt into a slot. Raises ReplicaError."""
        asked = {**body, **_in_slot(slot), 'max_tokens': 1, 'stream': False}
        asked.pop('stream_options', None)
        usage = usage_of(await self._call('/v1/chat/completions', asked, self._deadlines.prefill))
        if usage is None:
            raise ReplicaRefused(f'{self.replica.name} gave no usage', status=httpx.codes.BAD_GATEWAY)
        return usage

    async def save(self, slot: int, file: str) -> int:
        """Write a slot to a file of the slot folder; its tokens. Raises ReplicaError."""
        return int((await self._slot(slot, 'save', file))['n_saved'])

    async def restore(self, slot: int, file: str) -> int:
        """Read a slot from such a file; its tokens. Raises ReplicaError."""
        return int((await self._slot(slot, 'restore', file))['n_restored'])

    async def erase(self, slot: int) -> None:
        """Empty a slot. Raises ReplicaError."""
        await self._slot(slot, 'erase', None)

    async def stream(self, body: Mapping[str, Any], slot: int | None) -> AsyncGenerator[Chunk, None]:
        """The chunks of an answer; ``slot`` None leaves the choice to the server. Raises ReplicaError.

        Close the generator to end the request early.
        """
        asked = {**body, **_in_slot(slot), 'stream': True, 'stream_options': {'include_usage': True}}
        until = self._clock.monotonic() + self._deadlines.total
        patience = self._deadlines.first_token
        async with contextlib.aclosing(self._payloads(asked)) as payloads:
            while True:
                try:
                    with anyio.fail_after(max(0.0, min(patience, until - self._clock.monotonic()))):
                        payload = await anext(payloads, DONE)
                except TimeoutError:
                    raise ReplicaSlow(f'{self.replica.name} gave no token within {patience:g} s') from None
                if payload == DONE:
                    return
                chunk = self._parsed(payload)
                yield chunk
                if says_something(chunk):
                    patience = self._deadlines.next_token

    async def _payloads(self, asked: Mapping[str, Any]) -> AsyncGenerator[str, None]:
        parser, ended = SseParser(), False
        try:
            async with self._http.stream('POST', '/v1/chat/completions', json=asked) as response:
                if response.status_code != httpx.codes.OK:
                    raise self._refusal(response.status_code, (await response.aread())[:ERROR_BYTES])
                async for piece in response.aiter_bytes():
                    for payload in parser.feed(piece):
                        ended = ended or payload == DONE
                        yield payload
        except httpx.HTTPError as error:
            raise self._down(error) from error
        except SseOverflow as error:
            raise ReplicaRefused(f'{self.replica.name}: {error}', status=httpx.codes.BAD_GATEWAY) from error
        if not ended:
            raise ReplicaDown(f'{self.replica.name} ended its answer in the middle')

    async def _slot(self, slot: int, action: str, file: str | None) -> dict[str, Any]:
        asked = {} if file is None else {'filename': file}
        return await self._call(f'/slots/{slot}?action={action}', asked, self._deadlines.hand_over)

    async def _call(self, path: str, asked: Mapping[str, Any], patience: float) -> dict[str, Any]:
        try:
            with anyio.fail_after(patience):
                response = await self._http.post(path, json=asked)
        except TimeoutError:
            raise ReplicaSlow(f'{self.replica.name} did not answer {path} within {patience:g} s') from None
        except httpx.HTTPError as error:
            raise self._down(error) from error
        if response.status_code != httpx.codes.OK:
            raise self._refusal(response.status_code, response.content[:ERROR_BYTES])
        return self._parsed(response.text)

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise ReplicaRefused(f'{self.replica.name} sent what is no JSON object', status=httpx.codes.BAD_GATEWAY)
        if isinstance(content.get('error'), Mapping):
            raise self._refusal(int(content['error'].get('code') or 502), text.encode())
        return content

    def _down(self, error: httpx.HTTPError) -> ReplicaDown:
        return ReplicaDown(f'{self.replica.name}: {type(error).__name__}: {error}'.rstrip(': '))

    def _refusal(self, status: int, content: bytes) -> ReplicaError:
        try:
            error = json.loads(content)['error']
            message, kind = str(error.get('message', '')), str(error.get('type', ''))
        except (ValueError, KeyError, TypeError, AttributeError):
            message, kind = content.decode(errors='replace')[:200], ''
        return ReplicaRefused(f'{self.replica.name}: HTTP {status}: {message}', status=status, kind=kind)


def _in_slot(slot: int | None) -> dict[str, Any]:
    return {'cache_prompt': True} if slot is None else {'cache_prompt': True, 'id_slot': slot}


def says_something(chunk: Mapping[str, Any]) -> bool:
    """Whether a chunk holds a piece of the answer, of its reasoning, or of a call."""
    deltas = [each.get('delta') or {} for each in chunk.get('choices') or ()]
    return any(delta.get('content') or delta.get('tool_calls') or delta.get('reasoning_content') for delta in deltas)

