"""`bag` commands in processes of their own."""
from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from node_process import environment


class Tool:
    """One `bag` command in a process of its own."""

    def __init__(self, folder: Path, *arguments: object) -> None:
        self.log = folder / f'bag-{time.monotonic_ns()}.log'
        with self.log.open('w') as log:
            self.process = subprocess.Popen(
                [sys.executable, '-m', 'pace_ros.bags.tool', *map(str, arguments)],
                env=environment(PYTHONUNBUFFERED='1'), stdout=log, stderr=subprocess.STDOUT,
            )

    def wait_for(self, text: str, timeout: float = 20.0) -> None:
        deadline = time.monotonic() + timeout
        while text not in self.log.read_text():
            assert time.monotonic() < deadline, self.log.read_text()
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)

    def end(self, timeout: float = 30.0) -> tuple[int, str]:
        return self.process.wait(timeout), self.log.read_text()
