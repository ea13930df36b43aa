"""A server as a process that a campaign starts, stops in its tracks, kills and starts again on the same port."""
from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pace_ros.study.refusal import Refusal

START = 60.0  # s
WORDS = 300  # characters of a log's line
STOP = 8.0  # s; the gateway gives answers under way 5 s


class ServerAbsent(Refusal):
    """A server does not start; the message says which, and the last that its log says."""


class Server:
    """One process, a module of the package; ``url`` is what it prints first once it answers."""

    def __init__(self, name: str, module: str, arguments: Sequence[str], folder: Path,
                 environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.log = folder / f'{name}.log'
        self.url = ''
        self.starts = 0
        self._command = [sys.executable, '-m', module, *arguments]
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[str] | None = None

    @property
    def alive(self) -> bool:
        """Whether it runs, stopped in its tracks or not."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Begin to start it; ``wait`` for it afterwards."""
        with self.log.open('a') as errors:
            self._process = subprocess.Popen(  # noqa: S603  a module of our own
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                env=self._environment, start_new_session=True,
            )
        self.starts += 1

    def wait(self) -> str:
        """Its base URL, once it answers. Raises ServerAbsent."""
        pipe = self._process.stdout if self._process is not None else None
        ready = select.select([pipe], [], [], START)[0] if pipe is not None else []
        self.url = pipe.readline().strip() if pipe is not None and ready else ''
        if not self.url.startswith('http'):
            said = self.log.read_text(errors='replace').split('\n')
            last = next((line.strip() for line in reversed(said) if line.strip()), 'it gives no reason')
            if not ready:
                raise ServerAbsent(f'{self.name} does not answer within {START:g} s; it said last: {last[:WORDS]}')
            raise ServerAbsent(f'{self.name} does not start: {last[:WORDS]}')
        return self.url

    def send(self, number: signal.Signals) -> None:
        """SIGKILL, SIGSTOP or SIGCONT; nothing for one that has ended."""
        if self.alive and self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once, and wait until it has."""
        self.send(signal.SIGKILL)
        self._reap(STOP)

    def stop(self) -> None:
        """End it in order, by force after a while."""
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        self._reap(STOP)

    def _reap(self, patience: float) -> None:
        process = self._process
        if process is None:
            return
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(('127.0.0.1', 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]
