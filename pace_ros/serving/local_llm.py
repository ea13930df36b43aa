"""The local stand-in for the cloud: llama.cpp's own HTTP server with the packaged small model, on loopback.

OpenAI-compatible, so that demo and tests need no account. It stands in for the protocol and the timing of a cloud
model, not for its wits: the packaged model has 135 million parameters and speaks English.
"""
from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

from pace_ros import command_line, packaged
from pace_ros.serving.delay import DelayingProxy
from pace_ros.serving.llama_server import serve, server_parameters

DEFAULT_PORT = 8077


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='local_llm', description=__doc__)
    parser.add_argument('--port', type=command_line.port, default=DEFAULT_PORT,
                        help='0 chooses a free port (default: %(default)s)')
    parser.add_argument('--model', type=Path, help='GGUF model (default: the packaged one)')
    parser.add_argument('--threads', type=int, default=max(1, (os.cpu_count() or 2) // 2),
                        help='more than half the cores stall each other beside other work (default: %(default)s)')
    parser.add_argument('--slots', type=int, default=4, help='answers generated at once (default: %(default)s)')
    parser.add_argument('--context', type=int, default=2048, help='tokens of context a slot (default: %(default)s)')
    parser.add_argument('--delay', type=float, default=0.0, metavar='S',
                        help='hold every request back for so long, as a busy or distant cloud does')
    return parser.parse_args(command_line.own_words(argv))


def main() -> None:
    """Serve until interrupted; prints the base URL once it answers."""
    options = arguments()
    try:
        import xllamacpp  # noqa: PLC0415  its absence gets a sentence
    except ImportError:
        sys.exit('local_llm needs xllamacpp: run scripts/setup.sh, or set PACE_L2_BASE_URL to another endpoint.')
    try:
        parameters = server_parameters(
            xllamacpp, model=options.model, port=0 if options.delay > 0 else options.port, slots=options.slots,
            context=options.context, threads=options.threads,
        )
    except (ValueError, OSError, packaged.MissingPackage) as error:
        sys.exit(f'local_llm: {error}')

    def announce(address: str, _stop: threading.Event) -> None:
        sys.stdout.write(f'{_delayed(address, options) if options.delay > 0 else address}/v1\n')
        sys.stdout.flush()

    try:
        serve(xllamacpp, parameters, announce)
    except RuntimeError as error:
        sys.exit(f'local_llm: the server does not start with {parameters.model.path}: {error}')


def _delayed(address: str, options: argparse.Namespace) -> str:
    """The address of a proxy that holds requests back; without its port the process ends."""
    try:
        proxy = DelayingProxy(urlsplit(address).port or 0, options.delay, own_port=options.port)
    except OSError as error:
        sys.stderr.write(f'Port {options.port} cannot be used: {error}.\n')
        sys.stderr.flush()
        os._exit(1)
    return f'http://127.0.0.1:{proxy.port}'


if __name__ == '__main__':
    main()
