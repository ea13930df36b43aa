"""``l2_gateway FLEET``: the fleet's L2 side behind one base URL; whole conversations stay where their KV cache is.

Clients bear PACE_GATEWAY_TOKEN if it is set; replicas are asked with PACE_REPLICA_API_KEY if that is.
"""
from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
from pathlib import Path

import uvicorn

from pace_ros.clock import SystemClock
from pace_ros.serving.app import make_app
from pace_ros.serving.fleet import Fleet, read_fleet
from pace_ros.serving.gateway import Gateway
from pace_ros.serving.replica_client import ReplicaClient
from pace_ros.settings import ConfigError

TOKEN, KEY = 'PACE_GATEWAY_TOKEN', 'PACE_REPLICA_API_KEY'
LOOPBACK = {'127.0.0.1', 'localhost', '::1'}
LONGEST_STOP = 5  # s that answers under way have when it is told to end


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='l2_gateway', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('fleet', type=Path, help='YAML file: replicas and settings (docs/serving.md)')
    parser.add_argument('--port', type=int, help='instead of the one in the file; 0 chooses a free one')
    known, _ros = parser.parse_known_args(argv)  # a launch file adds --ros-args
    return known


def secret(name: str) -> str:
    """A secret from the environment. Raises ConfigError for one that no header can hold."""
    value = os.environ.get(name, '').strip()
    if not value.isascii() or not value.isprintable():
        raise ConfigError(f'{name} must be printable ASCII.')
    return value


def gateway_of(fleet: Fleet, *, api_key: str = '') -> Gateway:
    """The gateway of a fleet, with its clients, on the system's clock."""
    clock = SystemClock()
    clients = [ReplicaClient(each, fleet.settings.deadlines, clock, api_key=api_key) for each in fleet.replicas]
    return Gateway(fleet, clients, clock)


def listening(host: str, port: int) -> socket.socket:
    """A bound socket. Raises ConfigError for an address that cannot be used."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ':' in host else socket.AF_INET)
    except OSError as error:
        raise ConfigError(f'The gateway cannot listen on {host}, port {port}: {error.strerror or error}.') from error


def main() -> None:
    """Serve until interrupted; prints the base URL once it listens."""
    options = arguments()
    logging.basicConfig(level=logging.INFO, format='%(levelname)s %(name)s: %(message)s')
    logging.getLogger('httpx').setLevel(logging.WARNING)
    try:
        fleet = read_fleet(options.fleet)
        host, port = fleet.settings.host, fleet.settings.port if options.port is None else options.port
        token = secret(TOKEN)
        if host not in LOOPBACK and not token:
            raise ConfigError(f"'host' is {host}: beyond loopback every client must bear a token, so set {TOKEN}.")  # noqa: TRY301
        app = make_app(gateway_of(fleet, api_key=secret(KEY)), token=token)
        bound = listening(host, port)
    except ConfigError as error:
        sys.exit(f'l2_gateway: {error}')
    name = f'[{host}]' if ':' in host else host
    print(f'http://{name}:{bound.getsockname()[1]}/v1', flush=True)  # noqa: T201  what a caller waits for
    server = uvicorn.Server(uvicorn.Config(
        app, log_level='warning', timeout_graceful_shutdown=LONGEST_STOP, access_log=False,
    ))
    server.run(sockets=[bound])


if __name__ == '__main__':
    main()
