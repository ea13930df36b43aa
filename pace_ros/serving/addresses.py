"""Where a server listens, and how others reach it."""
from __future__ import annotations

import os
import socket

_ANY = {'0.0.0.0': ('192.0.2.1', '127.0.0.1'), '::': ('2001:db8::1', '::1')}  # noqa: S104  somewhere else, and here
_DISCARD = 9


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises ValueError with a sentence for an address that cannot be used."""
    try:
        return socket.create_server((host, port), family=_family(host))
    except (OSError, OverflowError) as error:
        number = getattr(error, 'errno', None) or 0
        why = os.strerror(number) if number > 0 else getattr(error, 'strerror', None) or error
        raise ValueError(f'It cannot listen on {host}, port {port}: {why}.') from error


def reachable(host: str) -> str:
    """A host that clients can use: where a server listens on all addresses, that by which this machine is known to
    others, or loopback if it has no other.
    """
    if host not in _ANY:
        return host
    elsewhere, here = _ANY[host]
    with socket.socket(_family(host), socket.SOCK_DGRAM) as asked:
        try:
            asked.connect((elsewhere, _DISCARD))  # sends nothing: the kernel chooses the address to send from
        except OSError:
            return here
        return str(asked.getsockname()[0])


def base_url(host: str, port: int) -> str:
    """As a client needs it, without a path."""
    return f'http://{in_url(reachable(host))}:{port}'


def in_url(host: str) -> str:
    """A host as it stands in a URL."""
    return f'[{host}]' if ':' in host else host


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ':' in host else socket.AF_INET
