"""Reads the fields of a tools file."""
from __future__ import annotations

from typing import Any

from pace_ros.settings import ConfigError


class ToolsError(ConfigError):
    """A tools file that cannot be used; the message names file and field."""


class Fields:
    """The fields of a mapping in the file, each read once with its type. Raises ToolsError naming file and field."""

    def __init__(self, where: str, given: object, known: tuple[str, ...]) -> None:
        if not isinstance(given, dict):
            raise ToolsError(f'{where} must be a mapping.')
        unknown = sorted(str(key) for key in given if key not in known)
        if unknown:
            raise ToolsError(f"{where}: unknown field '{unknown[0]}'; there are {', '.join(known)}.")
        self._where = where
        self._given = given

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def inner(self, name: str, known: tuple[str, ...]) -> Fields:
        """The fields of a mapping in this one."""
        return Fields(f"{self._where}, field '{name}'", self._given[name], known)

    def get(self, name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """A value of one of these types; without a default it must be there."""
        value = self._given.get(name, default)
        if value is None and name not in self._given:
            raise self.wrong(name, 'is missing')
        wanted = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
            raise self.wrong(name, f'must be {" or ".join(each.__name__ for each in wanted)}, not {value!r}')
        return value

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """A number in an interval."""
        value = float(self.get(name, (int, float), default))
        if not low <= value <= high:
            raise self.wrong(name, f'must be from {low:g} to {high:g}, not {value:g}')
        return value

    def wrong(self, name: str, why: str) -> ToolsError:
        """The error to raise for a field."""
        return ToolsError(f"{self._where}, field '{name}' {why}.")
