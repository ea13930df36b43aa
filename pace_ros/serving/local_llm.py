"""The local stand-in for the cloud: llama.cpp's own HTTP server with the packaged small model, on loopback.

OpenAI-compatible, so that demo and tests need no account. It stands in for the protocol and the timing of a cloud
model, not for its wits: the packaged model has 135 million parameters and speaks English.
"""
from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from pace_ros import packaged
from pace_ros.serving.delay import DelayingProxy

DEFAULT_PORT = 8077


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='local_llm', description=__doc__)
    parser.add_argument('--port', type=int, default=DEFAULT_PORT, help='0 chooses a free port (default: %(default)s)')
    parser.add_argument('--model', type=Path, help='GGUF model (default: the packaged one)')
    parser.add_argument('--threads', type=int, default=max(1, (os.cpu_count() or 2) // 2),
                        help='more than half the cores stall each other beside other work (default: %(default)s)')
    parser.add_argument('--slots', type=int, default=4, help='answers generated at once (default: %(default)s)')
    parser.add_argument('--context', type=int, default=2048, help='tokens of context a slot (default: %(default)s)')
    parser.add_argument('--delay', type=float, default=0.0, metavar='S',
                        help='hold every request back for so long, as a busy or distant cloud does')
    known, _ros = parser.parse_known_args(argv)  # a launch file adds --ros-args
    return known


def main() -> None:
    """Serve until interrupted; prints the base URL once it answers."""
    options = arguments()
    try:
        import xllamacpp  # noqa: PLC0415  its absence gets a sentence
    except ImportError:
        sys.exit('local_llm needs xllamacpp: run scripts/setup.sh, or set PACE_L2_BASE_URL to another endpoint.')
    model = options.model or packaged.small_chat_model()
    if not model.is_file():
        sys.exit(f'There is no model at {model}.')
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.hostnames = ['127.0.0.1']
    parameters.port = 0 if options.delay > 0 else options.port
    parameters.n_parallel = options.slots
    parameters.n_ctx = options.context * options.slots
    parameters.cpuparams.n_threads = options.threads
    parameters.cpuparams_batch.n_threads = options.threads
    parameters.warmup = True
    parameters.ui = False
    parameters.verbosity = 1
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    server = xllamacpp.Server(parameters)
    address = server.listening_address
    if options.delay > 0:
        try:
            proxy = DelayingProxy(urlsplit(address).port or 0, options.delay, own_port=options.port)
        except OSError as error:
            sys.stderr.write(f'Port {options.port} cannot be used: {error}.\n')
            sys.stderr.flush()
            os._exit(1)
        address = f'http://127.0.0.1:{proxy.port}'
    sys.stdout.write(f'{address}/v1\n')
    sys.stdout.flush()
    stop.wait()
    os._exit(0)  # taken down in order, the server would first finish every answer under way


if __name__ == '__main__':
    main()
