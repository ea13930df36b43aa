"""URLs from configuration: whether a request can be sent there is known before anybody asks."""
from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

import httpx


def names_user(url: str) -> bool:
    """Whether it holds a user or password. To be asked first: it must not be shown then."""
    return '@' in re.split(r'[/?#]', url.partition('://')[2], maxsplit=1)[0]


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
