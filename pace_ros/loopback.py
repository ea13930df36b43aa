"""The names by which a machine calls itself."""
from __future__ import annotations

from urllib.parse import urlsplit

LOOPBACK = frozenset({'127.0.0.1', 'localhost', '::1'})


def on_loopback(url: str) -> bool:
    """Whether a URL leads to this machine; not if it is none."""
    try:
        return urlsplit(url).hostname in LOOPBACK
    except ValueError:
        return False
