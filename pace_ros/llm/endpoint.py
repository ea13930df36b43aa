"""Which language model: parameters first, then the environment, then the local stand-in."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pace_ros.config_levels import L2, Hedge
from pace_ros.loopback import on_loopback
from pace_ros.settings import ConfigError
from pace_ros.urls import names_user, shown_url, split_url

LOCAL_BASE_URL = 'http://127.0.0.1:8077/v1'


@dataclass(frozen=True)
class Endpoint:
    """Where to ask and as whom; the key never shows in a log or a ``repr``."""

    base_url: str
    model: str
    api_key: str = field(default='', repr=False)

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine."""
        return on_loopback(self.base_url)


def endpoint_of(config: L2, environment: Mapping[str, str]) -> Endpoint:
    """Choose the endpoint; the key comes from ``PACE_L2_API_KEY`` alone. Raises ConfigError for a bad URL or key."""
    base_url = config.base_url or environment.get('PACE_L2_BASE_URL', '') or LOCAL_BASE_URL
    model = config.model or environment.get('PACE_L2_MODEL', '') or 'local'
    return Endpoint(_checked(base_url, 'The L2 base URL'), model, _key('PACE_L2_API_KEY', environment))


def hedge_endpoint_of(config: Hedge, first: Endpoint, environment: Mapping[str, str]) -> Endpoint | None:
    """The second endpoint, None where it is the first one again. Its key is its own: the first one's stays home."""
    if not config.base_url:
        return Endpoint(first.base_url, config.model, first.api_key) if config.model else None
    base_url = _checked(config.base_url, "Parameter 'hedge.base_url'")
    return Endpoint(base_url, config.model or first.model, _key('PACE_L2_HEDGE_API_KEY', environment))


def _checked(base_url: str, what: str) -> str:
    if names_user(base_url):  # the URL is shown in logs and diagnostics
        raise ConfigError(f'{what} must not hold a user or password: the key has an environment variable of its own.')
    try:
        split_url(base_url)
    except ValueError as error:
        raise ConfigError(f'{what} {error}, not {shown_url(base_url)}.') from None
    if '?' in base_url or '#' in base_url:
        raise ConfigError(f'{what} must end with its path, not {shown_url(base_url)}.')
    return base_url.rstrip('/')


def _key(variable: str, environment: Mapping[str, str]) -> str:
    key = environment.get(variable, '').strip()
    if not key.isascii() or not key.isprintable():
        raise ConfigError(f'{variable} must be printable ASCII.')
    return key
