"""A real replica as a process of its own, for as long as it is measured."""
from __future__ import annotations

import contextlib
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pace_ros.study.refusal import Refusal

START, STOP = 60.0, 5.0  # s to load the model; s to end before it is killed


class ReplicaProcessError(Refusal):
    """A replica does not start."""


@contextlib.contextmanager
def running_replica(
    slot_dir: Path, *, slots: int, context: int, batch: int = 512, cores: str = '', model: Path | None = None
) -> Iterator[str]:
    """The base URL of an ``l2_replica`` that ends with the block. Raises ReplicaProcessError."""
    words = [sys.executable, '-m', 'pace_ros.serving.l2_replica', '--slot-dir', str(slot_dir),
             '--slots', str(slots), '--context', str(context), '--batch', str(batch)]
    words += ['--cores', cores] if cores else []
    words += ['--model', str(model)] if model is not None else []
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield _address(process)
        finally:
            process.terminate()
            try:
                process.wait(STOP)
            except subprocess.TimeoutExpired:
                process.kill()


def _address(process: subprocess.Popen[str]) -> str:
    """The first line it prints. Raises ReplicaProcessError with the last line of its complaint."""
    assert process.stdout is not None and process.stderr is not None
    line = _line(process.stdout, START)
    if line.startswith('http://'):
        return line
    process.kill()
    complaint = process.stderr.read().strip().splitlines()
    raise ReplicaProcessError(f'The replica does not start within {START:g} s: '
                              f'{complaint[-1] if complaint else "it says nothing"}')


def _line(stream: IO[str], patience: float) -> str:
    """A line within ``patience`` s, or nothing."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        until = time.monotonic() + patience
        while (left := until - time.monotonic()) > 0:
            if selector.select(left):
                return stream.readline().strip()
    return ''
