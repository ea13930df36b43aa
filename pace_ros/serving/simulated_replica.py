"""A llama.cpp server as the gateway sees it, in this process: slots with token lists, slot files, and faults at will.

A httpx transport: ``ReplicaClient(..., transport=SimulatedReplica(...))``. A word is a token. It answers with words
that follow from the prompt's last ones, so that a prompt read whole, appended to or restored is answered alike.
"""
from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import anyio
import httpx

Json = dict[str, Any]
END = '</s>'
HEADER = 'kv'


@dataclass
class Faults:
    """What goes wrong, until it is taken back. Calls are named completions, tokenize, save, restore, erase, slots and
    health.
    """

    dead: bool = False
    hangs: set[str] = field(default_factory=set)  # calls that never end
    refuses: dict[str, tuple[int, str]] = field(default_factory=dict)  # calls answered with a status and a message
    resets: set[str] = field(default_factory=set)  # calls whose connection breaks
    kills: set[str] = field(default_factory=set)  # calls at which it dies
    breaks_after: int | None = None  # words of an answer after which its connection breaks
    dies_after: int | None = None  # likewise, and the server with it
    stalls_after: int | None = None  # words after which nothing comes any more
    ends_after: int | None = None  # words after which it ends without a last word
    on_saved: Callable[[Path], None] | None = None  # sees each slot file that was written


@dataclass
class Slot:
    """Tokens that are in it; None: it was never used."""

    held: list[str] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # an answer may be heard by several tasks


class SimulatedReplica(httpx.AsyncBaseTransport):
    """``folder``: of its slot files; ``words``: of an answer, unless fewer are asked for; ``calls``: of a request with
    tools, instead of words. ``reads`` counts the tokens read, ``seen`` every call's name and body.
    """

    def __init__(
        self, *, slots: int = 2, context: int = 256, folder: Path | None = None, words: int = 5,
        calls: list[Json] | None = None, api_key: str = '',
    ) -> None:
        self.slots = [Slot() for _ in range(slots)]
        self.context = context
        self.folder = folder
        self.words = words
        self.calls = calls
        self.api_key = api_key
        self.faults = Faults()
        self.reads = 0
        self.seen: list[tuple[str, Json]] = []
        self.word_time = 0.0  # s
        self.closed = 0  # answers that the client ended early

    def kill(self) -> None:
        """It dies: every call fails from now on."""
        self.faults.dead = True

    def revive(self) -> None:
        """It is started anew: nothing is in its slots."""
        self.faults = Faults()
        self.slots = [Slot() for _ in self.slots]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a call as llama.cpp's server does."""
        path, asked = request.url.path, json.loads(await request.aread() or b'{}')
        action = parse_qs(request.url.query.decode()).get('action', [''])[0]
        name = action or path.rsplit('/', 1)[-1]
        self.seen.append((name, asked))
        await self._fail(name)
        if self.api_key and name != 'health' and request.headers.get('authorization') != f'Bearer {self.api_key}':
            return _error(401, 'Invalid API Key')
        if name in self.faults.refuses:
            return _error(*self.faults.refuses[name])
        if name == 'health':
            return _json({'status': 'ok'})
        if name == 'slots':
            return httpx.Response(200, json=[self._told(each) for each in self.slots])
        if name == 'apply-template':
            return _json({'prompt': written(asked['messages'])})
        if name == 'tokenize':
            return _json({'tokens': [_number(each) for each in asked['content'].split()]})
        if action:
            return await self._slot_action(self.slots[int(path.rsplit('/', 1)[-1])], action, asked)
        return await self._completion(asked)

    async def _fail(self, name: str) -> None:
        if name in self.faults.kills:
            self.kill()
            raise httpx.ReadError('')
        if self.faults.dead:
            raise httpx.ConnectError('All connection attempts failed')
        if name in self.faults.resets:
            raise httpx.RemoteProtocolError('Server disconnected without sending a response.')
        if name in self.faults.hangs:
            await anyio.sleep_forever()
        await anyio.lowlevel.checkpoint()

    def _told(self, slot: Slot) -> Json:
        told: Json = {'n_ctx': self.context, 'is_processing': slot.lock.locked()}
        return told if slot.held is None else {**told, 'id_task': 1, 'n_prompt_tokens': len(slot.held)}

    async def _slot_action(self, slot: Slot, action: str, asked: Json) -> httpx.Response:
        async with slot.lock:
            if action == 'erase':
                erased, slot.held = len(slot.held or ()), []
                return _json({'n_erased': erased})
            if self.folder is None:
                return _error(501, 'This server does not support slots action.')
            if '/' in asked['filename'] or '..' in asked['filename']:
                return _error(400, 'Invalid filename')
            return self._save(slot, asked) if action == 'save' else self._restore(slot, asked)

    @property
    def _header(self) -> str:
        """A slot file is taken by a server with as many slots alone."""
        return f'{HEADER} {len(self.slots)}'

    def _save(self, slot: Slot, asked: Json) -> httpx.Response:
        path = self._path(asked)
        content = json.dumps([self._header, *(slot.held or ())])
        path.write_text(content, encoding='utf-8')
        if self.faults.on_saved is not None:
            self.faults.on_saved(path)
        return _json({'n_saved': len(slot.held or ()), 'n_written': len(content.encode()), 'timings': {'save_ms': 1.0}})

    def _restore(self, slot: Slot, asked: Json) -> httpx.Response:
        try:
            header, *tokens = json.loads(self._path(asked).read_text(encoding='utf-8'))
        except (OSError, ValueError):
            header, tokens = '', []
        if header != self._header or len(tokens) > self.context:
            slot.held = []
            return _error(400, 'Unable to restore slot: No available space in KV cache or invalid slot save file')
        slot.held = tokens
        return _json({'n_restored': len(tokens), 'timings': {'restore_ms': 1.0}})

    def _path(self, asked: Json) -> Path:
        assert self.folder is not None  # noqa: S101  checked before
        return self.folder / str(asked['filename'])

    async def _completion(self, asked: Json) -> httpx.Response:
        prompt = written(asked['messages']).split()
        if len(prompt) >= self.context:
            return _error(400, f'request ({len(prompt)} tokens) exceeds the available context size ({self.context})',
                          'exceed_context_size_error')
        chunks = self._chunks(prompt, asked)
        if asked.get('stream'):
            return httpx.Response(200, headers={'content-type': 'text/event-stream'}, stream=_Events(self, chunks))
        async with contextlib.aclosing(chunks):
            *_, last = [each async for each in chunks]
        return _json({'choices': [{'index': 0, 'finish_reason': 'length', 'message': {'role': 'assistant'}}], **last})

    async def _chunks(self, prompt: list[str], asked: Json) -> AsyncGenerator[Json, None]:
        """What it streams; at each word its slot holds the words before."""
        slot = self.slots[int(asked.get('id_slot', 0)) % len(self.slots)]
        async with slot.lock:
            cached = min(_shared(slot.held or [], prompt), len(prompt) - 1)
            self.reads += len(prompt) - cached
            slot.held = list(prompt)
            yield _chunk({'role': 'assistant', 'content': None})
            words = [] if self.calls and asked.get('tools') else self.answer(prompt)
            for number, word in enumerate(words[:int(asked.get('max_tokens', len(words)))]):
                await anyio.sleep(self.word_time)
                await self._break(number)
                slot.held = [*prompt, *words[:number]]
                yield _chunk({'content': f'{word} '})
            answered = min(int(asked.get('max_tokens', len(words))), len(words))
            for index, call in enumerate(self.calls or () if not words else ()):
                yield _chunk({'tool_calls': [{'index': index, **call}]})
            yield _chunk({}, finish='tool_calls' if not words else 'length')
            usage = {'prompt_tokens': len(prompt), 'completion_tokens': max(1, answered),
                     'prompt_tokens_details': {'cached_tokens': cached}}
            timings = {'cache_n': cached, 'prompt_n': len(prompt) - cached, 'prompt_ms': 10.0 * (len(prompt) - cached)}
            yield {'choices': [], 'usage': usage, 'timings': timings}

    def answer(self, prompt: list[str]) -> list[str]:
        """The words it answers a prompt with."""
        seed = hashlib.sha256(' '.join(prompt[-8:]).encode()).hexdigest()
        return [f'{seed[:4]}{number}' for number in range(self.words)]

    async def _break(self, number: int) -> None:
        faults = self.faults
        if number == faults.dies_after:
            self.kill()
        if number in (faults.dies_after, faults.breaks_after):
            raise httpx.ReadError('')
        if number == faults.stalls_after:
            await anyio.sleep_forever()
        if number == faults.ends_after:
            raise _Ends


class _Ends(Exception):
    pass


class _Events(httpx.AsyncByteStream):
    def __init__(self, replica: SimulatedReplica, chunks: AsyncGenerator[Json, None]) -> None:
        self._replica = replica
        self._chunks = chunks
        self._ended = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._chunks:
                yield b'data: ' + json.dumps(chunk).encode() + b'\n\n'
            yield b'data: [DONE]\n\n'
        except _Ends:
            pass
        self._ended = True

    async def aclose(self) -> None:
        self._replica.closed += not self._ended
        await self._chunks.aclose()


def written(messages: list[Mapping[str, Any]]) -> str:
    """A prompt as its template writes it."""
    turns = [f'<{each["role"]}> {each.get("content") or ""} {END}' for each in messages]
    return ' '.join([*turns, '<assistant>'])


def _shared(held: list[str], prompt: list[str]) -> int:
    pairs = enumerate(zip(held, prompt, strict=False))
    return next((at for at, (old, new) in pairs if old != new), min(len(held), len(prompt)))


def _number(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:3], 'big')


def _chunk(delta: Json, finish: str | None = None) -> Json:
    return {'id': 'chatcmpl-simulated', 'object': 'chat.completion.chunk', 'created': 0, 'model': 'simulated',
            'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}]}


def _json(content: Json) -> httpx.Response:
    return httpx.Response(200, json=content)


def _error(status: int, message: str, kind: str = 'invalid_request_error') -> httpx.Response:
    return httpx.Response(status, json={'error': {'code': status, 'message': message, 'type': kind}})
