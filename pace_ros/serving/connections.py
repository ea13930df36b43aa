"""Connections that say nothing: they end after a while, and give way to one that comes when there are too many."""
from __future__ import annotations

import asyncio
import resource

from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS = 1024  # at once, where the system allows as many
HEAD_TIME = 10.0  # s for the head of a request, from the connection's beginning or its first byte
_EACH = 2  # file descriptors a connection may need: its own, and one to a replica
_RESERVE = 64  # for all else


def affordable() -> int:
    """How many connections this process can have at once; its limit of open files is raised as far as that needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _EACH * CONNECTIONS + _RESERVE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(CONNECTIONS, (soft - _RESERVE) // _EACH))


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that waits ``head_time`` s for the head of a request, and no longer."""

    head_time = HEAD_TIME
    _deadline: asyncio.TimerHandle | None = None
    opened = 0.0  # by the loop's time

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base has it
        """A connection has come: if there are too many, the one that has been silent longest gives way."""
        super().connection_made(transport)
        self.opened = self.loop.time()
        self._look()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            others = [each for each in self.connections if isinstance(each, PatientProtocol) and each is not self]
            oldest = min((each for each in others if not each.is_asked), key=lambda each: each.opened, default=None)
            if oldest is not None:
                self.connections.discard(oldest)
                oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A piece of a request."""
        super().data_received(data)
        self._look()

    @property
    def is_asked(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _look(self) -> None:
        if self.is_asked:
            self._stop()
        elif self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(self.head_time, self._give_up)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.is_asked:
            self.transport.close()
