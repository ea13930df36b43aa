"""Which conversation a request belongs to, as the client says."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pace_ros.serving.fleet import Identity
from pace_ros.serving.histories import Histories

__all__ = ['Histories', 'IdentityError', 'stated']


class IdentityError(ValueError):
    """An identity that cannot be taken; the message names where it stands."""


def stated(headers: Mapping[str, str], body: Mapping[str, Any], settings: Identity) -> str | None:
    """The identity that a request states, None if it states none: an empty one, or null. Raises IdentityError."""
    named = {name.lower(): value for name, value in headers.items()}
    for name in settings.headers:
        if value := named.get(name.lower(), '').strip():
            return _checked(value, f'header {name}', settings.longest)
    for name in settings.fields:
        found = _field(body, name)
        if isinstance(found, str):
            found = found.strip()
        if found is not None and found != '':
            return _checked(found, f'field {name}', settings.longest)
    return None


def _field(body: Mapping[str, Any], name: str) -> object:
    found: object = body
    for part in name.split('.'):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def _checked(value: object, where: str, longest: int) -> str:
    if not isinstance(value, str):
        raise IdentityError(f'The {where} must be a string, not of type {type(value).__name__}.')
    if len(value) > longest or not value.isprintable():
        raise IdentityError(f'The {where} must be printable and of at most {longest} characters.')
    return value
