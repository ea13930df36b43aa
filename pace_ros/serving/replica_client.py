"""One llama.cpp server over HTTP: a prompt's tokens, answers from a slot, and slots to files and back."""
from __future__ import annotations

import contextlib
import json
import math
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import anyio
import httpx

from pace_ros.clock import Clock
from pace_ros.llm.sse import SseOverflow, SseParser
from pace_ros.serving.fleet import Deadlines, Replica
from pace_ros.serving.replica_errors import (
    ReplicaDown,
    ReplicaError,
    ReplicaRefused,
    ReplicaSlow,
    TemplateFailed,
    TimeUp,
)
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
    """Calls of one replica, each with its deadline: ``until`` (monotonic, s) is the whole turn's, ``patience`` (s) what
    this call may take, where that is less than the settings allow. Nothing is kept alive: these servers close idle
    connections, and a loopback connection costs next to nothing. ``heard``: when it last said anything (monotonic, s).
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

    async def tokens(self, body: Mapping[str, Any], *, until: float = math.inf) -> list[int]:
        """A request's prompt, as its template writes it. Raises ReplicaError, TemplateFailed where that does not."""
        asked = {name: value for name, value in body.items() if name != 'max_tokens'}
        patience = self._deadlines.tokenize
        try:
            written = await self._call('/apply-template', asked, patience, until)
        except ReplicaRefused as error:
            if error.status != httpx.codes.INTERNAL_SERVER_ERROR:
                raise
            raise TemplateFailed(str(error), status=error.status, words=error.words) from None
        with self._understood('/apply-template'):
            asked = {'content': str(written['prompt']), 'add_special': True, 'parse_special': True}
        read = await self._call('/tokenize', asked, patience, until)
        with self._understood('/tokenize'):
            return [int(each) for each in read['tokens']]

    async def prefill(
        self, body: Mapping[str, Any], slot: int, *, until: float = math.inf, patience: float = math.inf
    ) -> Usage:
        """Read a prompt into a slot. Raises ReplicaError.

        The one token that the server makes up at the end is not fed back, so that the slot holds the prompt alone.
        """
        asked = {**body, **_in_slot(slot), 'max_tokens': 1, 'stream': False}
        done = await self._call('/v1/chat/completions', asked, min(self._deadlines.prefill, patience), until)
        with self._understood('its usage'):
            usage = usage_of(done)
        if usage is None:
            raise self._unusable('it gave no usage')
        return usage

    async def save(self, slot: int, file: str) -> Saved:
        """Write a slot to a file of the slot folder. Raises ReplicaError."""
        done = await self._slot(slot, 'save', file)
        with self._understood('what it saved'):
            return Saved(int(done['n_saved']), int(done['n_written']))

    async def restore(self, slot: int, file: str) -> int:
        """Read a slot from such a file; its tokens. Raises ReplicaError."""
        done = await self._slot(slot, 'restore', file)
        with self._understood('what it restored'):
            return int(done['n_restored'])

    async def erase(self, slot: int, *, patience: float = math.inf) -> None:
        """Empty a slot. Raises ReplicaError."""
        await self._slot(slot, 'erase', None, patience)

    async def slots(self, *, patience: float = math.inf) -> list[SlotState]:
        """All slots as the server sees them. Raises ReplicaError."""
        with self._within(min(self._deadlines.hand_over, patience), math.inf, 'did not tell its slots'):
            response = await self._http.get('/slots')
        text = self._accepted(response)
        with self._understood('/slots'):
            states = [_slot_state(each) for each in json.loads(text)]
        if not states:
            raise self._unusable('it lists no slots')
        return states

    async def stream(
        self, body: Mapping[str, Any], slot: int | None, *, until: float = math.inf, patience: float = math.inf
    ) -> AsyncGenerator[Chunk, None]:
        """The chunks of an answer, ``patience`` for the first that says something; ``slot`` None leaves the choice to
        the server.

        Raises ReplicaError. Close the generator to end the request early.
        """
        asked = {**body, **_in_slot(slot), 'stream': True, 'stream_options': {'include_usage': True}}
        patience, used = min(self._deadlines.first_token, patience), False
        began: float | None = self._clock.monotonic()  # None once it has said something
        async with contextlib.aclosing(self._payloads(asked)) as payloads:
            while True:
                with self._within(patience, until, 'gave no token', began):
                    payload = await anext(payloads, DONE)
                if payload == DONE:
                    break
                chunk = self._parsed(payload)
                with self._understood('a chunk'):
                    used, says = used or usage_of(chunk) is not None, says_something(chunk)
                yield chunk
                if says:
                    patience, began = self._deadlines.next_token, None
        if not used:
            raise self._unusable('it gave no usage')

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
            raise self._unusable(str(error)) from error
        if not ended:
            raise ReplicaDown(f'{self.replica.name} ended its answer in the middle')

    async def _slot(self, slot: int, action: str, file: str | None, patience: float = math.inf) -> dict[str, Any]:
        asked = {} if file is None else {'filename': file}
        return await self._call(f'/slots/{slot}?action={action}', asked, min(self._deadlines.hand_over, patience))

    async def _call(
        self, path: str, asked: Mapping[str, Any], patience: float, until: float = math.inf
    ) -> dict[str, Any]:
        with self._within(patience, until, f'did not answer {path}'):
            response = await self._http.post(path, json=asked)
        return self._parsed(self._accepted(response))

    @contextlib.contextmanager
    def _within(self, patience: float, until: float, what: str, began: float | None = None) -> Iterator[None]:
        """Raises ReplicaSlow after its patience, counted from ``began`` (monotonic, s; default: now), TimeUp where the
        turn ends before, ReplicaDown for a connection that fails.
        """
        now = self._clock.monotonic()
        left = max(0.0, until - now)
        waits = max(0.0, patience - (now - began)) if began is not None else patience
        try:
            with anyio.fail_after(min(waits, left)):
                yield
        except TimeoutError:
            kind, time = (TimeUp, left) if left < waits else (ReplicaSlow, patience)
            raise kind(f'{self.replica.name} {what} within {time:.3g} s') from None
        except httpx.HTTPError as error:
            raise self._down(error) from error

    @contextlib.contextmanager
    def _understood(self, what: str) -> Iterator[None]:
        """Raises ReplicaRefused for an answer of another shape than llama.cpp's."""
        try:
            yield
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            raise self._unusable(f'{what} is not what llama.cpp sends') from None

    def _unusable(self, why: str) -> ReplicaRefused:
        return ReplicaRefused(f'{self.replica.name}: {why}', status=httpx.codes.BAD_GATEWAY)

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
            raise self._unusable('it sent what is no JSON object')
        if isinstance(content.get('error'), Mapping):
            code = content['error'].get('code')
            raise self._refusal(code if isinstance(code, int) else httpx.codes.BAD_GATEWAY, text.encode())
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
        named = f'{self.replica.name}: HTTP {status}: {words}'
        if status == httpx.codes.SERVICE_UNAVAILABLE:  # it loads its model: what it held is lost
            return ReplicaDown(named)
        return ReplicaRefused(named, status=status, kind=kind, words=words)


def _in_slot(slot: int | None) -> dict[str, Any]:
    return {'cache_prompt': True} if slot is None else {'cache_prompt': True, 'id_slot': slot}


def _slot_state(slot: Mapping[str, Any]) -> SlotState:
    """A slot that was never used names no task, and no tokens."""
    tokens = slot.get('n_prompt_tokens', None if 'id_task' in slot else 0)
    return SlotState(int(slot['n_ctx']), None if tokens is None else int(tokens), bool(slot['is_processing']))
