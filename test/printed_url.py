"""Commands that print a URL once they serve, as processes of their own."""
from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@contextlib.contextmanager
def printed_url(
    module: str, *words: str, log: Path, start: float, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its URL, which must come within ``start`` s; it is killed if it does not end by itself."""
    everything = {**os.environ, 'PYTHONPATH': str(ROOT), **(environment or {})}
    with log.open('w') as errors, subprocess.Popen(
        [sys.executable, '-m', module, *words], stdout=subprocess.PIPE, stderr=errors, text=True, env=everything,
        cwd=log.parent,
    ) as process:
        too_late = threading.Timer(start, process.kill)
        too_late.start()
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            too_late.cancel()
            assert url, f'{module} said nothing:\n{log.read_text()}'
            yield process, url
        finally:
            too_late.cancel()
            process.kill()
