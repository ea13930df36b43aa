"""``l2_replica``: a llama.cpp server of the gateway's fleet, pinned to its cores, with slots that can be handed over.

Its slot folder is the fleet's ``slot_dir``; clients are asked for PACE_REPLICA_API_KEY if that is set.
"""
from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pace_ros import command_line, packaged
from pace_ros.loopback import LOOPBACK
from pace_ros.serving import addresses
from pace_ros.serving.keys import KEY, secret
from pace_ros.serving.llama_server import serve, server_parameters


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='l2_replica', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--host', default='127.0.0.1', help=f'address to listen on; others than loopback need {KEY} '
                        '(default: %(default)s)')
    parser.add_argument('--port', type=command_line.port, default=0, help='0 chooses a free one (default)')
    parser.add_argument('--model', type=Path, help='GGUF model (default: the packaged one)')
    parser.add_argument('--slots', type=int, default=4, help='conversations held at once (default: %(default)s)')
    parser.add_argument('--context', type=int, default=4096, help='tokens of context a slot (default: %(default)s)')
    parser.add_argument('--kv', type=int, default=0,
                        help='tokens of KV cache that all slots share, as on every other replica of the fleet '
                        '(default: each slot has its context for itself)')
    parser.add_argument('--batch', type=int, default=512,
                        help='prompt tokens read at a time; small ones let answers in between (default: %(default)s)')
    parser.add_argument('--threads', type=int, default=1, help='for reading and for answering (default: %(default)s)')
    parser.add_argument('--cores', metavar='LIST', help='run on these alone, as 0 or 0,2 (default: all)')
    parser.add_argument('--slot-dir', type=Path, help="the fleet's slot_dir; without it nothing is handed over")
    parser.add_argument('--with-stdin', action='store_true', help='end when standard input is closed: whoever started '
                        'it has ended')
    return parser.parse_args(command_line.own_words(argv))


def cores_of(text: str) -> set[int]:
    """The cores of a list. Raises ValueError with a sentence."""
    try:
        cores = {int(each) for each in text.split(',')}
    except ValueError:
        raise ValueError(f'--cores must be numbers with commas between, not {text!r}.') from None
    usable = os.sched_getaffinity(0)
    if not cores <= usable:
        raise ValueError(f'--cores {text}: this machine lets it use {", ".join(map(str, sorted(usable)))}.')
    return cores


def parameters_of(options: argparse.Namespace, xllamacpp: Any) -> Any:
    """llama.cpp's own parameters. Raises ValueError with a sentence."""
    for name in ('slots', 'context', 'batch', 'threads'):
        if getattr(options, name) < 1:
            raise ValueError(f'--{name} must be at least 1, not {getattr(options, name)}.')
    if options.kv and not options.context <= options.kv <= options.context * options.slots:
        raise ValueError(f'--kv must be from one context ({options.context}) to all of them '
                         f'({options.context * options.slots}), not {options.kv}.')
    key = secret(KEY)
    if options.host not in LOOPBACK and not key:
        raise ValueError(f'--host is {options.host}: beyond loopback clients must bear a key, so set {KEY}.')
    parameters = server_parameters(
        xllamacpp, model=options.model, port=options.port, slots=options.slots, context=options.context,
        threads=options.threads, host=options.host,
    )
    if options.kv:
        parameters.kv_unified, parameters.n_ctx, parameters.kv_unified_per_slot = True, options.kv, options.context
    parameters.n_batch = parameters.n_ubatch = options.batch
    parameters.cache_ram_mib = 0  # a cache of its own beside the slots would hide what a slot holds
    parameters.endpoint_slots = parameters.endpoint_metrics = parameters.endpoint_props = True
    if options.slot_dir is not None:
        os.umask(0o077)  # what it writes is for its own user alone
        options.slot_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        parameters.slot_save_path = f'{options.slot_dir}/'
    if key:
        parameters.api_keys = [key]
    return parameters


def _wait_for_end_of_input(stop: threading.Event) -> None:
    sys.stdin.read()
    stop.set()


def main() -> None:
    """Serve until interrupted; prints the base URL, without /v1, once it answers."""
    options = arguments()
    try:
        if options.cores:
            os.sched_setaffinity(0, cores_of(options.cores))  # before any thread is there, so that all inherit it
        import xllamacpp  # noqa: PLC0415  its absence gets a sentence
        parameters = parameters_of(options, xllamacpp)
    except ImportError:
        sys.exit('l2_replica needs xllamacpp: run scripts/setup.sh.')
    except (ValueError, OSError, packaged.MissingPackage) as error:
        sys.exit(f'l2_replica: {error}')

    def announce(address: str, stop: threading.Event) -> None:
        if options.with_stdin:
            threading.Thread(target=_wait_for_end_of_input, args=[stop], daemon=True).start()
        print(addresses.base_url(options.host, urlsplit(address).port or 0), flush=True)  # noqa: T201  what a caller waits for

    try:
        serve(xllamacpp, parameters, announce)
    except RuntimeError as error:
        sys.exit(f'l2_replica: the server does not start with {parameters.model.path}: {error}')


if __name__ == '__main__':
    main()
