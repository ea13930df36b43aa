"""The part of a cache key that is compared exactly, not by similarity."""
from __future__ import annotations

from pace_ros.language import language


def scope_of(locale: str) -> str:
    """Answers are shared within one language only: an English question never gets a Chinese answer."""
    return language(locale)
