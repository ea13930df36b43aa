"""URLs from configuration: whether a request can be sent there is known before anybody asks."""
from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

import httpx


def names_user(url: str) -> bool:
    """Whether it may hold a user or password, also where its scheme is forgotten or misspelt."""
    head = re.match(r'(?:[A-Za-z][A-Za-z0-9+.-]*:)?/{0,3}([^/?#]*)', url)
    return head is not None and '@' in head[1]


def shown_url(url: str) -> str:
    """As it may stand in a log or a complaint: without what may be a secret, before its host or behind its path."""
    if names_user(url):
        return 'a URL with a user or password'
    plain = re.split(r'[?#]', url, maxsplit=1)[0]
    return repr(plain) if plain == url else f'{plain!r} and more'


def split_url(url: str) -> SplitResult:
    """The parts of a URL of http:// or https://. Raises ValueError with why no request could be sent there."""
    if not url.startswith(('http://', 'https://')):
        raise ValueError('must start with http:// or https://')
    if not url.isprintable() or ' ' in url:
        raise ValueError('must not hold blanks or control characters')
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL) as error:
        raise ValueError(f'is no URL: {error}') from error
    if not host:
        raise ValueError('must have a host')
    if port == 0:
        raise ValueError('must not have port 0')
    return parts
