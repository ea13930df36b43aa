"""The gestures the robot knows, by name, and its own motions that make them."""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

FIELDS = ('motion', 'joints', 'duration')


class GestureError(ValueError):
    """A gesture file that cannot be used, or an unknown gesture; the message is a sentence that says which."""


@dataclass(frozen=True)
class GestureMotion:
    """One gesture: ``motion`` is the robot's own name for it, ``duration`` how long it lasts (s).

    ``joints`` are patterns of the joints that show it; empty: every joint that does not move the gaze.
    """

    name: str
    motion: str
    joints: tuple[str, ...]
    duration: float


class GestureBook:
    """Gestures by name."""

    def __init__(self, motions: Mapping[str, GestureMotion]) -> None:
        self._motions = dict(motions)

    @classmethod
    def read(cls, path: Path) -> GestureBook:
        """Read a YAML file that maps names to gestures. Raises GestureError naming file and field."""
        try:
            content = yaml.safe_load(path.read_text(encoding='utf-8'))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
            raise GestureError(f'{path} cannot be read: {problem}.') from problem
        if not isinstance(content, dict) or not content:
            raise GestureError(f'{path}: must map the names of gestures to their motions.')
        return cls({_name(name, path): _motion(name, fields, f"{path}, gesture '{name}'")
                    for name, fields in content.items()})

    def of(self, name: str) -> GestureMotion:
        """The gesture of a name. Raises GestureError for one the book does not know."""
        if name not in self._motions:
            raise GestureError(f"There is no gesture '{name}'; known are {', '.join(self._motions)}.")
        return self._motions[name]

    def __contains__(self, name: object) -> bool:
        return name in self._motions

    def names(self) -> tuple[str, ...]:
        """Every name, in the order of the file."""
        return tuple(self._motions)


def _name(name: object, path: Path) -> str:
    # YAML takes an unquoted yes, no, on or off for a truth value.
    if not isinstance(name, str) or not name:
        raise GestureError(f'{path}: {name!r} is no name of a gesture; quote it.')
    return name


def _motion(name: str, fields: object, where: str) -> GestureMotion:
    if not isinstance(fields, dict):
        raise GestureError(f'{where}: must be a mapping with motion, duration and perhaps joints.')
    unknown = [str(field) for field in fields if field not in FIELDS]
    if unknown:
        raise GestureError(f"{where}: there is no field '{unknown[0]}'; fields are {', '.join(FIELDS)}.")
    motion, joints, duration = fields.get('motion'), fields.get('joints', []), fields.get('duration')
    if not isinstance(motion, str) or not motion:
        raise GestureError(f"{where}, field 'motion': must be the robot's name of a motion.")
    if not isinstance(joints, list) or not all(isinstance(joint, str) and joint for joint in joints):
        raise GestureError(f"{where}, field 'joints': must be a list of names.")
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not 0 < duration < math.inf:
        raise GestureError(f"{where}, field 'duration': must be a positive number of seconds, not {duration!r}.")
    return GestureMotion(name, motion, tuple(joints), float(duration))
