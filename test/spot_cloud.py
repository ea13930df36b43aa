"""A cloud that answers everything at once, as a process of its own: it prints its base URL and serves until SIGINT."""
from __future__ import annotations

import asyncio
import contextlib
import sys

from support import answer, scripted_cloud


async def serve() -> None:
    async with scripted_cloud(answer('The sea', ' is salty', ' because of rivers.')) as cloud:
        sys.stdout.write(f'{cloud.base_url}\n')
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == '__main__':
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve())
