"""How a configuration field describes itself: meaning, range, choices, and whether it may change at run time."""
from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

Value = bool | int | float | str | tuple[str, ...]
T = TypeVar('T')


class ConfigError(ValueError):
    """A value the configuration refuses; the message is a sentence that names parameter and value."""


def setting(
    default: Value,
    doc: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    read_only: bool = False,
) -> Any:
    """Make a dataclass field with its meaning and limits; ``low`` and ``high`` are inclusive."""
    facts = {'doc': doc, 'low': low, 'high': high, 'choices': choices, 'read_only': read_only}
    return dataclasses.field(default=default, metadata=facts)


@dataclasses.dataclass(frozen=True)
class Setting:
    """One leaf of the configuration tree, by its dotted name."""

    name: str
    default: Value
    doc: str
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    read_only: bool

    def checked(self, value: object) -> Value:
        """Return ``value`` in the setting's type. Raises ConfigError with a sentence that names the parameter."""
        try:
            converted = _converted(self.default, value)
        except OverflowError:
            converted = math.inf
        if converted is None:
            wanted = 'a list of strings' if isinstance(self.default, tuple) else type(self.default).__name__
            raise ConfigError(f"Parameter '{self.name}' must be {wanted}, not {value!r}.")
        if self.choices and converted not in self.choices:
            raise ConfigError(f"Parameter '{self.name}' must be one of {', '.join(self.choices)}, not {value!r}.")
        if isinstance(converted, int | float) and not isinstance(converted, bool):
            if isinstance(converted, float) and not math.isfinite(converted):
                raise ConfigError(f"Parameter '{self.name}' must be a finite number, not {value!r}.")
            if (self.low is not None and converted < self.low) or (self.high is not None and converted > self.high):
                raise ConfigError(f"Parameter '{self.name}' must be from {self.low} to {self.high}, not {value!r}.")
        return converted


def _converted(default: Value, value: object) -> Value | None:
    if isinstance(default, bool):
        return value if isinstance(value, bool) else None
    if isinstance(default, int):
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    if isinstance(default, float):
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if isinstance(default, tuple):
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(item for item in value if item)
        return None
    return value if isinstance(value, str) else None


def settings_of(tree: type, prefix: str = '') -> Iterator[Setting]:
    """Every leaf of a tree of dataclasses, in the order of declaration."""
    hints = typing.get_type_hints(tree)
    for field in dataclasses.fields(tree):
        name = f'{prefix}{field.name}'
        if dataclasses.is_dataclass(hints[field.name]):
            yield from settings_of(hints[field.name], f'{name}.')
        else:
            yield Setting(name=name, default=typing.cast(Value, field.default), **field.metadata)


def value_of(tree: object, name: str) -> Value:
    """The value at a dotted name."""
    for part in name.split('.'):
        tree = getattr(tree, part)
    return typing.cast(Value, tree)


def with_values(tree: T, values: Mapping[str, object]) -> T:
    """Return a copy of ``tree`` with the values at dotted names replaced.

    Raises ConfigError for an unknown name or a value the setting refuses.
    """
    known = {each.name: each for each in settings_of(type(tree))}
    checked: dict[str, Value] = {}
    for name, value in values.items():
        if name not in known:
            raise ConfigError(f"There is no parameter '{name}'.")
        checked[name] = known[name].checked(value)
    return _rebuilt(tree, checked, '')


def _rebuilt(tree: T, changes: Mapping[str, Value], prefix: str) -> T:
    """Rebuild bottom up and once, so that checks across fields see all the changes together."""
    new: dict[str, object] = {}
    for field in dataclasses.fields(tree):  # type: ignore[arg-type]  # a dataclass instance by construction
        name = prefix + field.name
        if name in changes:
            new[field.name] = changes[name]
        elif any(changed.startswith(f'{name}.') for changed in changes):
            new[field.name] = _rebuilt(getattr(tree, field.name), changes, f'{name}.')
    return dataclasses.replace(tree, **new)  # type: ignore[type-var]  # likewise
