"""llama.cpp's own HTTP server in this process: what all of ours have in common."""
from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from pace_ros import packaged
from pace_ros.serving import addresses

MAGIC = b'GGUF'


def server_parameters(
    xllamacpp: Any, *, model: Path | None, port: int, slots: int, context: int, threads: int, host: str = '127.0.0.1'
) -> Any:
    """llama.cpp's parameters for so many tokens of ``context`` a slot; without a model, the packaged one.

    Raises ValueError with a sentence for a model or an address that cannot be used, or MissingPackage.
    """
    file = model or packaged.small_chat_model()
    if not file.is_file():
        raise ValueError(f'There is no model at {file}.')
    with file.open('rb') as content:
        if content.read(len(MAGIC)) != MAGIC:
            raise ValueError(f'{file} is no GGUF model.')
    addresses.listening(host, port).close()
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(file)
    parameters.hostnames = [host]
    parameters.port = port
    parameters.n_parallel = slots
    parameters.n_ctx = context * slots
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.warmup = True
    parameters.ui = False
    parameters.verbosity = 1
    return parameters


def serve(xllamacpp: Any, parameters: Any, announce: Callable[[str, threading.Event], None]) -> None:
    """Until interrupted, then the process ends. ``announce`` is told the address once the server answers, and the event
    that ends it. Raises RuntimeError if it does not start.
    """
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    server = xllamacpp.Server(parameters)
    announce(server.listening_address, stop)
    stop.wait()
    os._exit(0)  # taken down in order, the server would first finish every answer under way
