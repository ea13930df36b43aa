"""One llama.cpp server over HTTP: a prompt's tokens, answers from a slot, and slots to files and back."""
from __future__ import annotations

import contextlib
import json
import math
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import anyio
import httpx

from pace_ros.clock import Clock
from pace_ros.llm.sse import SseOverflow, SseParser
from pace_ros.serving.fleet import Deadlines, Replica
from pace_ros.serving.replica_errors import ReplicaDown, ReplicaError, ReplicaRefused, ReplicaSlow
from pace_ros.serving.usage import Chunk, Usage, says_something, usage_of

DONE = '[DONE]'
ERROR_BYTES = 2000
ERROR_WORDS = 300  # characters of a server's error that are passed on


class Saved(NamedTuple):
    """What was written of a slot."""

    tokens: int
    size: int  # bytes


@dataclass(frozen=True)
class SlotState:
    """A slot as its server sees it; ``tokens`` None where it does not tell."""

    context: int
    tokens: int | None
    busy: bool


class ReplicaClient:
    """Calls of one replica, each with its deadline. Nothing is kept alive: these servers close idle connections, and a
    loopback connection costs next to nothing. ``heard``: when it last said anything (monotonic, s).
    """

    def __init__(
        self, replica: Replica, deadlines: Deadlines, clock: Clock, *, api_key: str = '',
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.replica = replica
        self.heard = -math.inf
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
                well = (await self._http.get('/health')).status_code == httpx.codes.OK
        except (TimeoutError, httpx.HTTPError):
            return False
        self.heard = self._clock.monotonic() if well else self.heard
        return well

    async def tokens(self, body: Mapping[str, Any]) -> list[int]:
        """A request's prompt, as its template writes it. Raises ReplicaError."""
        asked = {name: value for name, value in body.items() if name != 'max_tokens'}
        try:
            written = await self._call('/apply-template', asked, self._deadlines.hand_over)
        except ReplicaRefused as error:
            if error.status != httpx.codes.INTERNAL_SERVER_ERROR:
                raise
            raise ReplicaRefused(str(error), status=httpx.codes.BAD_REQUEST) from None  # a field of the wrong type
        read = await self._call('/tokenize', {'content': written['prompt'], 'add_special': True,
                                              'parse_special': True}, self._deadlines.hand_over)
        return list(read['tokens'])

    async def prefill(self, body: Mapping[str, Any], slot: int, *, until: float = math.inf) -> Usage:
        """Read a prompt into a slot, before ``until`` (monotonic, s). Raises ReplicaError.

        The one token that the server makes up at the end is not fed back, so that the slot holds the prompt alone.
        """
        asked = {**body, **_in_slot(slot), 'max_tokens': 1, 'stream': False}
        patience = min(self._deadlines.prefill, self._left(until))
        usage = usage_of(await self._call('/v1/chat/completions', asked, patience))
        if usage is None:
            raise ReplicaRefused(f'{self.replica.name} gave no usage', status=httpx.codes.BAD_GATEWAY)
        return usage

    async def save(self, slot: int, file: str) -> Saved:
        """Write a slot to a file of the slot folder. Raises ReplicaError."""
        done = await self._slot(slot, 'save', file)
        return Saved(int(done['n_saved']), int(done['n_written']))

    async def restore(self, slot: int, file: str) -> int:
        """Read a slot from such a file; its tokens. Raises ReplicaError."""
        return int((await self._slot(slot, 'restore', file))['n_restored'])

    async def erase(self, slot: int) -> None:
        """Empty a slot. Raises ReplicaError."""
        await self._slot(slot, 'erase', None)

    async def slots(self) -> list[SlotState]:
        """All slots as the server sees them. Raises ReplicaError."""
        try:
            with anyio.fail_after(self._deadlines.hand_over):
                response = await self._http.get('/slots')
            states = [_slot_state(each) for each in json.loads(self._accepted(response))]
        except TimeoutError:
            raise ReplicaSlow(f'{self.replica.name} did not tell its slots in time') from None
        except httpx.HTTPError as error:
            raise self._down(error) from error
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ReplicaRefused(f'{self.replica.name}: /slots is not what llama.cpp sends', status=502) from None
        if not states:
            raise ReplicaRefused(f'{self.replica.name} lists no slots', status=httpx.codes.BAD_GATEWAY)
        return states

    async def stream(
        self, body: Mapping[str, Any], slot: int | None, *, until: float = math.inf
    ) -> AsyncGenerator[Chunk, None]:
        """The chunks of an answer, before ``until`` (monotonic, s); ``slot`` None leaves the choice to the server.

        Raises ReplicaError. Close the generator to end the request early.
        """
        asked = {**body, **_in_slot(slot), 'stream': True, 'stream_options': {'include_usage': True}}
        patience, used = self._deadlines.first_token, False
        async with contextlib.aclosing(self._payloads(asked)) as payloads:
            while True:
                waits = min(patience, self._left(until))
                try:
                    with anyio.fail_after(waits):
                        payload = await anext(payloads, DONE)
                except TimeoutError:
                    raise ReplicaSlow(f'{self.replica.name} gave no token within {waits:.3g} s') from None
                if payload == DONE:
                    break
                chunk = self._parsed(payload)
                used = used or usage_of(chunk) is not None
                yield chunk
                if says_something(chunk):
                    patience = self._deadlines.next_token
        if not used:
            raise ReplicaRefused(f'{self.replica.name} gave no usage', status=httpx.codes.BAD_GATEWAY)

    async def _payloads(self, asked: Mapping[str, Any]) -> AsyncGenerator[str, None]:
        parser, ended = SseParser(), False
        try:
            async with self._http.stream('POST', '/v1/chat/completions', json=asked) as response:
                if response.status_code != httpx.codes.OK:
                    raise self._refusal(response.status_code, (await response.aread())[:ERROR_BYTES])
                async for piece in response.aiter_bytes():
                    self.heard = self._clock.monotonic()
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
            raise ReplicaSlow(f'{self.replica.name} did not answer {path} within {patience:.3g} s') from None
        except httpx.HTTPError as error:
            raise self._down(error) from error
        return self._parsed(self._accepted(response))

    def _left(self, until: float) -> float:
        return max(0.0, until - self._clock.monotonic())

    def _accepted(self, response: httpx.Response) -> str:
        if response.status_code != httpx.codes.OK:
            raise self._refusal(response.status_code, response.content[:ERROR_BYTES])
        self.heard = self._clock.monotonic()
        return response.text

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise ReplicaRefused(f'{self.replica.name} sent what is no JSON object', status=httpx.codes.BAD_GATEWAY)
        if isinstance(content.get('error'), Mapping):
            raise self._refusal(int(content['error'].get('code') or httpx.codes.BAD_GATEWAY), text.encode())
        return content

    def _down(self, error: httpx.HTTPError) -> ReplicaDown:
        return ReplicaDown(f'{self.replica.name}: {type(error).__name__}: {error}'.rstrip(': '))

    def _refusal(self, status: int, content: bytes) -> ReplicaError:
        try:
            error = json.loads(content)['error']
            message, kind = str(error.get('message', '')), str(error.get('type', ''))
        except (ValueError, KeyError, TypeError, AttributeError):
            message, kind = content.decode(errors='replace'), ''
        words = ' '.join(message.split())[:ERROR_WORDS]
        return ReplicaRefused(f'{self.replica.name}: HTTP {status}: {words}', status=status, kind=kind)


def _in_slot(slot: int | None) -> dict[str, Any]:
    return {'cache_prompt': True} if slot is None else {'cache_prompt': True, 'id_slot': slot}


def _slot_state(slot: Mapping[str, Any]) -> SlotState:
    """A slot that was never used names no task, and no tokens."""
    tokens = slot.get('n_prompt_tokens', None if 'id_task' in slot else 0)
    return SlotState(int(slot['n_ctx']), None if tokens is None else int(tokens), bool(slot['is_processing']))
