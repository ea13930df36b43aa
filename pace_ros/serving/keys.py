"""What clients and replicas are asked for: from the environment alone."""
from __future__ import annotations

import os

from pace_ros.settings import ConfigError

TOKEN, KEY = 'PACE_GATEWAY_TOKEN', 'PACE_REPLICA_API_KEY'


def secret(name: str) -> str:
    """A secret from the environment. Raises ConfigError for one that no header can hold."""
    value = os.environ.get(name, '').strip()
    if not value.isascii() or not value.isprintable():
        raise ConfigError(f'{name} must be printable ASCII.')
    return value
