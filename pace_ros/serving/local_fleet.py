"""``l2_fleet``: a whole fleet on this machine by one command: replicas pinned to cores, the gateway in front of them.

It prints the gateway's base URL once it serves, and ends everything with itself. A replica that dies is left out, not
started again; without a decoder it ends, with code 1. Clients bear PACE_GATEWAY_TOKEN if it is set.
"""
from __future__ import annotations

import argparse
import contextlib
import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from pace_ros.command_line import own_words, port
from pace_ros.serving.cores import shares
from pace_ros.serving.fleet import POLICIES, Fleet, served_fleet_of
from pace_ros.serving.keys import KEY
from pace_ros.serving.l2_gateway import Server, app_of, bound_for, log_to_stderr, serve, url_of
from pace_ros.serving.own_folder import own_folder
from pace_ros.serving.policies import make_policy
from pace_ros.serving.replica_process import NotStarted, ReplicaProcess
from pace_ros.settings import ConfigError

log = logging.getLogger(__name__)
LONGEST_START = 120.0  # s for all replicas together; a small model takes a few


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='l2_fleet', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--prefillers', type=int, default=1,
                        help='replicas that read first turns (default: %(default)s); 0: the decoders read themselves')
    parser.add_argument('--decoders', type=int, default=2,
                        help='replicas where conversations live (default: %(default)s)')
    parser.add_argument('--slots', type=int, default=4, help='conversations a decoder holds (default: %(default)s)')
    parser.add_argument('--context', type=int, default=4096, help='tokens of context a slot (default: %(default)s)')
    parser.add_argument('--kv', type=int, default=0,
                        help='tokens of KV cache that all slots of a replica share (default: each slot has its own)')
    parser.add_argument('--batch', type=int, default=512, help='prompt tokens read at a time (default: %(default)s)')
    parser.add_argument('--model', type=Path, help='GGUF model (default: the packaged one)')
    parser.add_argument('--policy', choices=POLICIES, help='how turns are placed (default: pinned)')
    parser.add_argument('--port', type=port, help="the gateway's; 0 chooses a free one (default: 8090)")
    parser.add_argument('--settings', type=Path, help="YAML file of more settings of the gateway, without 'replicas'")
    return parser.parse_args(own_words(argv))


class NoDecoder(RuntimeError):
    """All replicas that answer have ended by themselves."""


@contextlib.contextmanager
def local_fleet(options: argparse.Namespace) -> Iterator[tuple[Fleet, socket.socket, list[ReplicaProcess]]]:
    """The fleet with its running replicas, and the socket of the gateway to be; they end, and what they wrote is
    deleted, with the context. Nothing is started for a fleet that could not serve.

    Raises ConfigError for options that make no fleet, NotStarted for a replica that does not start.
    """
    settings, plan = _settings(options), _plan(options)
    nowhere = {name: f'http://127.0.0.1:{number + 1}' for number, name in enumerate(plan)}
    _fleet(options, nowhere, {}, '/slots')
    try:
        unserved = _fleet(options, nowhere, settings, '/slots')
    except ConfigError as error:
        raise ConfigError(f'{options.settings}: {error}' if options.settings else str(error)) from None
    with bound_for(unserved, options.port) as bound, own_folder('l2_fleet-') as folder:
        slots = folder / 'slots'
        slots.mkdir(mode=0o700)
        processes: list[ReplicaProcess] = []
        try:
            for name, words in plan.items():
                processes.append(ReplicaProcess(name, [*words, '--slot-dir', str(slots)], folder))
            urls = {each.name: each.url(LONGEST_START) for each in processes}
            yield _fleet(options, urls, settings, str(slots)), bound, processes
        finally:
            for each in processes:
                each.end()


def _fleet(options: argparse.Namespace, urls: Mapping[str, str], settings: Mapping[str, Any], slot_dir: str) -> Fleet:
    """Raises ConfigError."""
    policy = {'policy': options.policy} if options.policy else {}
    return served_fleet_of({'replicas': _replicas(options, urls), 'slot_dir': slot_dir, **settings, **policy})


def _settings(options: argparse.Namespace) -> Mapping[str, Any]:
    """What the gateway is told beside its replicas. Raises ConfigError."""
    if options.settings is None:
        return {}
    try:
        content = yaml.safe_load(options.settings.read_text(encoding='utf-8')) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f'{options.settings} cannot be read: {" ".join(str(error).split())}') from None
    if not isinstance(content, dict) or {'replicas', 'slot_dir'} & set(content):
        raise ConfigError(f"{options.settings} must map settings to values, without 'replicas' and 'slot_dir'.")
    return dict(content)


def _plan(options: argparse.Namespace) -> dict[str, list[str]]:
    """The command line of each replica by its name. Raises ConfigError."""
    if options.prefillers < 0 or options.decoders < 1:
        raise ConfigError('A fleet needs at least one decoder, and --prefillers must not be negative.')
    cores = shares(options.prefillers, options.decoders, sorted(os.sched_getaffinity(0)))
    names = [*(f'prefill-{number + 1}' for number in range(options.prefillers)),
             *(f'decode-{number + 1}' for number in range(options.decoders))]
    words = ['--context', str(options.context), '--batch', str(options.batch), '--slots', str(options.slots),
             '--kv', str(options.kv)]
    if options.model is not None:
        words += ['--model', str(options.model.resolve())]
    return {name: [*words, '--cores', ','.join(map(str, mine)), '--threads', str(len(mine))]
            for name, mine in zip(names, cores, strict=True)}


def _replicas(options: argparse.Namespace, urls: Mapping[str, str]) -> list[dict[str, Any]]:
    alone = options.prefillers == 0
    return [
        {'name': name, 'url': url, 'role': 'both' if alone else name.partition('-')[0], 'slots': options.slots,
         'context': options.context, 'kv': options.kv}
        for name, url in urls.items()
    ]


def _interrupt(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)  # while it starts: what is running already ends with it


def _end_without(decoders: Sequence[ReplicaProcess], server: Server) -> None:
    for each in decoders:
        each.wait()
    server.should_exit = True


def _serve(fleet: Fleet, bound: socket.socket, processes: Sequence[ReplicaProcess]) -> None:
    """Until interrupted. Raises NoDecoder when nobody is left who could answer."""
    policy = make_policy(fleet.settings.policy)
    names = [each.name for each in fleet.replicas if policy.answers(decodes=each.decodes)]
    decoders = [each for each in processes if each.name in names]
    server = Server(app_of(fleet), ending=fleet.settings.deadlines.ending)
    threading.Thread(target=_end_without, args=[decoders, server], daemon=True).start()
    for each in processes:
        log.info('%s', each)
    print(url_of(bound), flush=True)  # noqa: T201  what a caller waits for
    serve(server, bound)
    if all(each.ended for each in decoders):
        raise NoDecoder(f'no decoder is left: {", ".join(names)} ended by themselves.')


def main() -> None:
    """Serve until interrupted; prints the base URL once everything answers."""
    options = arguments()
    log_to_stderr()
    os.environ.setdefault(KEY, secrets.token_urlsafe(24))  # nobody but this gateway asks these replicas
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    try:
        with local_fleet(options) as (fleet, bound, processes):
            _serve(fleet, bound, processes)
    except (ConfigError, NotStarted, NoDecoder, OSError) as error:
        sys.exit(f'l2_fleet: {error}')


if __name__ == '__main__':
    main()
