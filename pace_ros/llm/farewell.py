"""Tells a gateway that visits are over, so that their slots are free at once and not only after an idle time."""
from __future__ import annotations

import asyncio
import logging
from urllib.parse import quote

import anyio
import httpx

log = logging.getLogger(__name__)
DEADLINE = 2.0  # s for one farewell, retry included
LAST_WORDS = 0.5  # s that those under way get when the robot stops
MOST = 64  # under way at once; a gateway that is so slow ends the rest by their idle time
GONE = {200, 202, 204, 404, 405}  # it is over, or nobody there has heard of it


class Farewells:
    """Best effort: every farewell is a task of its own with a deadline, and none delays a turn or the end."""

    def __init__(self, http: httpx.AsyncClient, base_url: str) -> None:
        self._http = http
        self._url = f'{base_url}/conversations/'
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """Farewells under way."""
        return len(self._tasks)

    def say(self, conversation: str) -> None:
        """Begin to tell that a visit is over. Called on the event loop."""
        if len(self._tasks) >= MOST:
            log.warning('a visit is left to end by its idle time: %s farewells to the gateway are under way', MOST)
            return
        task = asyncio.get_running_loop().create_task(self._tell(conversation), name='farewell')
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Let those under way end, for a short time."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=LAST_WORDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    async def _tell(self, conversation: str) -> None:
        why = 'no answer in time'
        with anyio.move_on_after(DEADLINE):
            why = await self._said(conversation)
        if why:
            log.warning('the gateway was not told that a visit is over, it ends there by its idle time: %s', why)

    async def _said(self, conversation: str) -> str:
        """Why it could not be said, empty if it was; once more where a kept connection had gone."""
        why = ''
        for _ in range(2):
            try:
                response = await self._http.delete(self._url + quote(conversation, safe=''))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                why = f'{type(error).__name__}: {error}'.rstrip(': ')
            else:
                return '' if response.status_code in GONE else f'HTTP {response.status_code}'
        return why
