"""One ``l2_replica`` as a process of its own, which ends with the one that started it."""
from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

log = logging.getLogger(__name__)
LONGEST_END = 5.0  # s until it is killed
WORDS = 300  # characters of what it said that are shown


class NotStarted(RuntimeError):
    """A replica does not start; the message says why."""


class ReplicaProcess:
    """``words``: its command line; what it says goes to a file in ``folder``. It is not started again when it ends."""

    def __init__(self, name: str, words: Sequence[str], folder: Path) -> None:
        self.name = name
        self.words = words
        self._ending = False
        self._log = folder / f'{name}.log'
        with self._log.open('wb') as errors:
            self._process = subprocess.Popen(  # noqa: S603  this package's own executable
                [sys.executable, '-m', 'pace_ros.serving.l2_replica', '--with-stdin', *words],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True,
            )
        self._address = ''
        self._known = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def __str__(self) -> str:
        """Where it is and what it runs on."""
        return f'{self.name}: {self._address}, process {self._process.pid}, {" ".join(self.words)}'

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def url(self, patience: float) -> str:
        """Its base URL, once it answers. Raises NotStarted after so many seconds, or when it has ended."""
        if not self._known.wait(patience):
            raise NotStarted(f'{self.name} does not answer within {patience:g} s.')
        if not self._address:
            said = [line.strip() for line in self._log.read_text(errors='replace').splitlines() if line.strip()]
            why = next((line for line in reversed(said) if 'l2_replica:' in line), said[-1] if said else 'it has ended')
            raise NotStarted(f'{self.name} does not start: {why[:WORDS]}')
        return self._address

    def wait(self) -> None:
        """Until it has ended, however that is."""
        self._process.wait()

    @property
    def ended(self) -> bool:
        """Whether it has."""
        return self._process.poll() is not None

    def end(self) -> None:
        """End it, and wait until it has."""
        self._ending = True
        self._process.terminate()
        try:
            self._process.wait(LONGEST_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _watch(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  it is a pipe
        self._address = self._process.stdout.readline().strip()
        self._known.set()
        code = self._process.wait()
        if not self._ending:
            log.error('%s has ended by itself, code %d; it is not started again', self.name, code)
