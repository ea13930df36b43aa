"""What tests of several rooms need: an HTTP server that plays a script, an outlet that keeps what it is told."""
from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

from pace_ros.turn import Onset, ResponseFrame, SpeechState, TurnRecord

DROP = object()   # close the connection without ending the response
STALL = object()  # send nothing more until the client goes away


def sse(*payloads: object) -> bytes:
    """Events whose data are the payloads: strings as they are, everything else as JSON."""
    texts = (each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in payloads)
    return b''.join(f'data: {text}\n\n'.encode() for text in texts)


def chunk(text: str | None = None, *, finish: str | None = None, **delta: object) -> dict[str, object]:
    """One chat completion chunk."""
    content = {} if text is None else {'content': text}
    return {'choices': [{'index': 0, 'delta': {**content, **delta}, 'finish_reason': finish}]}


def answer(*pieces: str, finish: str = 'stop') -> bytes:
    """A whole well-formed stream."""
    usage = {'choices': [], 'usage': {'prompt_tokens': 11, 'completion_tokens': len(pieces)}}
    return sse(chunk('', role='assistant'), *map(chunk, pieces), chunk(finish=finish), usage, '[DONE]')


@dataclass
class Script:
    """One response: status, headers, and steps: bytes to send, seconds or events to wait for, STALL or DROP."""

    steps: Iterable[object] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def as_scripts(given: Iterable[Script | bytes]) -> list[Script]:
    """Bytes are the body of a 200."""
    return [each if isinstance(each, Script) else Script([each]) for each in given]


@dataclass
class ScriptedCloud:
    """Plays its scripts one request after the other; the last one again and again. Says what it was asked.

    ``closed_early`` counts the responses whose client went away before their end.
    """

    scripts: list[Script]
    requests: list[dict[str, object]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    connections: int = 0
    closed_early: int = 0
    base_url: str = ''

    async def play(self, *scripts: Script | bytes) -> None:
        """Begin with other scripts; what was asked before is forgotten."""
        self.scripts = as_scripts(scripts)
        self.requests, self.headers, self.closed_early = [], [], 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, as many requests as the client makes."""
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._exchange(reader, writer):
                pass
        writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b'\r\n\r\n')).decode('latin-1')
        headers = dict(line.lower().split(': ', 1) for line in head.split('\r\n')[1:] if ': ' in line)
        body = await reader.readexactly(int(headers.get('content-length', 0)))
        self.headers.append(dict(line.split(': ', 1) for line in head.split('\r\n')[1:] if ': ' in line))
        script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
        self.requests.append(json.loads(body or b'{}'))
        kind = 'text/event-stream' if script.status == 200 else 'application/json'
        lines = [f'HTTP/1.1 {script.status} X', 'transfer-encoding: chunked']
        lines += [f'{key}: {value}' for key, value in {'content-type': kind, **script.headers}.items()]
        writer.write('\r\n'.join([*lines, '', '']).encode())
        for step in script.steps:
            if step is DROP:
                return False
            if step is STALL or isinstance(step, float | asyncio.Event):
                if isinstance(step, asyncio.Event):
                    gone = await gone_before(reader, step)
                else:
                    gone = await self._wait(reader, None if step is STALL else step)
                if gone:
                    self.closed_early += 1
                    return False
                continue
            assert isinstance(step, bytes)
            writer.write(f'{len(step):x}\r\n'.encode() + step + b'\r\n')
            try:
                await writer.drain()
            except ConnectionError:
                self.closed_early += 1
                return False
        writer.write(b'0\r\n\r\n')
        await writer.drain()
        return True

    async def _wait(self, reader: asyncio.StreamReader, seconds: float | None) -> bool:
        """Wait; says whether the client went away meanwhile."""
        try:
            return not await asyncio.wait_for(reader.read(1), seconds)
        except asyncio.TimeoutError:
            return False
        except ConnectionError:  # it left with bytes unread
            return True


async def gone_before(reader: asyncio.StreamReader, gate: asyncio.Event) -> bool:
    """Wait for the event; says whether the client went away before it."""
    gone, opened = asyncio.create_task(reader.read(1)), asyncio.create_task(gate.wait())
    await asyncio.wait({gone, opened}, return_when=asyncio.FIRST_COMPLETED)
    left = gone.done()
    for task in (gone, opened):
        task.cancel()
    await asyncio.wait({gone, opened})
    return left


@contextlib.asynccontextmanager
async def scripted_cloud(*scripts: Script | bytes) -> AsyncIterator[ScriptedCloud]:
    """A server on loopback that plays the scripts; bytes are the body of a 200."""
    cloud = ScriptedCloud(as_scripts(scripts))
    server = await asyncio.start_server(cloud.serve, '127.0.0.1', 0)
    cloud.base_url = f'http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1'
    try:
        yield cloud
    finally:
        server.close()


@dataclass
class KeptOutlet:
    """An outlet that keeps everything in order."""

    frames: list[ResponseFrame] = field(default_factory=list)
    onsets: list[Onset] = field(default_factory=list)
    turns: list[TurnRecord] = field(default_factory=list)
    speeches: list[SpeechState] = field(default_factory=list)
    looks: list[tuple[float, float]] = field(default_factory=list)
    gestures: list[tuple[str, str]] = field(default_factory=list)

    def frame(self, frame: ResponseFrame) -> None:
        """Keep a frame."""
        self.frames.append(frame)

    def onset(self, onset: Onset) -> None:
        """Keep an onset."""
        self.onsets.append(onset)

    def turn(self, record: TurnRecord) -> None:
        """Keep a record."""
        self.turns.append(record)

    def speech(self, state: SpeechState) -> None:
        """Keep a state of speech."""
        self.speeches.append(state)

    def look_at_speaker(self) -> None:
        """Keep a look."""
        self.looks.append((0.0, 0.0))

    def look_aside(self, side: float, up: float) -> None:
        """Keep a look."""
        self.looks.append((side, up))

    def gesture(self, turn_id: str, name: str) -> None:
        """Keep a gesture."""
        self.gestures.append((turn_id, name))

    def rest(self) -> None:
        """Keep the end of a gesture."""
        self.gestures.append(('', 'rest'))
