"""An answer as server-sent events."""
from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping

import anyio
from fastapi.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from pace_ros.serving.client_errors import error_event
from pace_ros.serving.usage import Chunk

log = logging.getLogger(__name__)
DONE = b'data: [DONE]\n\n'
LAST_WORD = 1.0  # s for it


class StreamedAnswer(StreamingResponse):
    """Its first chunk and the ``rest``, which is closed, and its turn settled, however the response ends. A client that
    takes nothing for ``patience`` s has hung up. ``failed`` is told what else goes wrong.
    """

    def __init__(
        self, first: Chunk, rest: AsyncGenerator[Chunk, None], *, usage: bool, headers: Mapping[str, str],
        patience: float, failed: Callable[[Exception], None],
    ) -> None:
        super().__init__(self._events(first), media_type='text/event-stream', headers=headers)
        self._rest = rest
        self._usage = usage
        self._patience = patience
        self._failed = failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        async def in_time(message: Message) -> None:
            with anyio.fail_after(self._patience):
                await send(message)

        try:
            await super().__call__(scope, receive, in_time)
        except TimeoutError:
            log.warning('a client took nothing of its answer for %g s, which ends', self._patience)
        except asyncio.CancelledError as error:  # by the server alone; a client that hangs up raises nothing
            with anyio.move_on_after(min(LAST_WORD, self._patience)):
                await send({'type': 'http.response.body', 'body': error_event(error), 'more_body': False})
        finally:
            with anyio.CancelScope(shield=True):
                await self._rest.aclose()

    async def _events(self, first: Chunk) -> AsyncIterator[bytes]:
        try:
            for event in self._event(first):
                yield event
            async for chunk in self._rest:
                for event in self._event(chunk):
                    yield event
            yield DONE
        except Exception as error:  # whatever it is, the client must not wait
            self._failed(error)
            yield error_event(error)

    def _event(self, chunk: Chunk) -> Iterator[bytes]:
        """None for what would tell usage alone, and nobody asked for it."""
        if not self._usage:
            chunk = {name: value for name, value in chunk.items() if name != 'usage'}
        if chunk.get('choices') or 'usage' in chunk:
            yield b'data: ' + json.dumps(chunk).encode() + b'\n\n'
