"""``l2_gateway FLEET``: the fleet's L2 side behind one base URL; whole conversations stay where their KV cache is.

Clients bear PACE_GATEWAY_TOKEN if it is set; replicas are asked with PACE_REPLICA_API_KEY if that is.
"""
from __future__ import annotations

import argparse
import contextlib
import logging
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from pace_ros import command_line
from pace_ros.clock import SystemClock
from pace_ros.loopback import LOOPBACK
from pace_ros.serving import addresses
from pace_ros.serving.app import make_app
from pace_ros.serving.connections import PatientProtocol, affordable
from pace_ros.serving.fleet import Fleet, read_fleet
from pace_ros.serving.gateway import Gateway
from pace_ros.serving.keys import KEY, TOKEN, secret
from pace_ros.serving.replica_client import ReplicaClient
from pace_ros.settings import ConfigError


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='l2_gateway', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('fleet', type=Path, help='YAML file: replicas and settings (docs/serving.md)')
    parser.add_argument('--port', type=command_line.port, help='instead of the one in the file; 0 chooses a free one')
    return parser.parse_args(command_line.own_words(argv))


def gateway_of(fleet: Fleet, *, api_key: str = '') -> Gateway:
    """The gateway of a fleet, with its clients, on the system's clock; its slot folder is made ready.

    Raises ConfigError.
    """
    clock = SystemClock()
    clients = [ReplicaClient(each, fleet.settings.deadlines, clock, api_key=api_key) for each in fleet.replicas]
    gateway = Gateway(fleet, clients, clock)
    if gateway.files is not None:
        gateway.files.prepare()
    return gateway


def listening(host: str, port: int) -> socket.socket:
    """A bound socket. Raises ConfigError for an address that cannot be used."""
    try:
        return addresses.listening(host, port)
    except ValueError as error:
        raise ConfigError(f'The gateway: {error}') from error


def bound_for(fleet: Fleet, port: int | None = None) -> socket.socket:
    """The gateway's socket. Raises ConfigError, also for an address beyond loopback without a token."""
    host, _ = fleet.settings.host, secret(KEY)
    if host not in LOOPBACK and not secret(TOKEN):
        raise ConfigError(f"'host' is {host}: beyond loopback every client must bear a token, so set {TOKEN}.")
    return listening(host, fleet.settings.port if port is None else port)


def app_of(fleet: Fleet) -> FastAPI:
    """The application, with the secrets of the environment. Raises ConfigError."""
    return make_app(gateway_of(fleet, api_key=secret(KEY)), token=secret(TOKEN))


def opened(fleet: Fleet, port: int | None = None) -> tuple[FastAPI, socket.socket]:
    """The application and its socket. Raises ConfigError."""
    bound = bound_for(fleet, port)
    try:
        return app_of(fleet), bound
    except ConfigError:
        bound.close()
        raise


def url_of(bound: socket.socket) -> str:
    """The base URL that clients of what listens there can use."""
    return f'{addresses.base_url(*bound.getsockname()[:2])}/v1'


class Server(uvicorn.Server):
    """Answers under way have ``ending`` s once it is told to end; what that cuts off is no news by then."""

    def __init__(self, app: FastAPI, *, ending: int) -> None:
        super().__init__(uvicorn.Config(app, log_level='warning', timeout_graceful_shutdown=ending, access_log=False,
                                        http=PatientProtocol, limit_concurrency=affordable()))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGINT or SIGTERM; the second SIGINT waits for nothing."""
        logging.getLogger('uvicorn.error').setLevel(logging.CRITICAL)
        super().handle_exit(sig, frame)


def serve(server: Server, bound: socket.socket) -> None:
    """Until SIGINT or SIGTERM, or until ``server.should_exit``."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # uvicorn raises what ended it once more when it has ended
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[bound])


def log_to_stderr() -> None:
    """What happens to the fleet, without its requests."""
    logging.basicConfig(level=logging.INFO, format='%(levelname)s %(name)s: %(message)s')
    logging.getLogger('httpx').setLevel(logging.WARNING)


def main() -> None:
    """Serve until interrupted; prints the base URL once it listens."""
    options = arguments()
    log_to_stderr()
    try:
        fleet = read_fleet(options.fleet)
        app, bound = opened(fleet, options.port)
    except ConfigError as error:
        sys.exit(f'l2_gateway: {error}')
    print(url_of(bound), flush=True)  # noqa: T201  what a caller waits for
    serve(Server(app, ending=fleet.settings.deadlines.ending), bound)


if __name__ == '__main__':
    main()
