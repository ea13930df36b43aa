"""Arms of one's own, from a YAML file: settings by name, put over the shipped configuration or over another arm.

patient: {from: pace-full, filler.budget_high: 2.0}
"""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pace_ros.config import Config
from pace_ros.settings import ConfigError
from pace_ros.study.evaluation.arms import ARMS, Arm


class ArmError(ValueError):
    """A file of arms that cannot be used; the message names file and arm."""


def read_arms(path: Path) -> dict[str, Arm]:
    """The arms of a file, by name. Raises ArmError for what is no mapping, an unknown setting, or a bad value."""
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ArmError(f'{path} cannot be read: {" ".join(str(error).split())}') from None
    if not isinstance(content, dict) or not content:
        raise ArmError(f'{path} must map names of arms to settings.')
    return {str(name): _arm(str(name), fields, path) for name, fields in content.items()}


def arm_of(name: str, settings: Mapping[str, Any]) -> Arm:
    """An arm of these settings. Raises ConfigError."""
    arm = Arm(name, name, settings, note='your own')
    arm.config(Config())
    return arm


def _arm(name: str, fields: object, path: Path) -> Arm:
    if name in ARMS:
        raise ArmError(f'{path}: there is an arm {name!r} already.')
    if not isinstance(fields, dict):
        raise ArmError(f'{path}, arm {name!r}: must map settings to values.')
    settings = {str(key): value for key, value in fields.items()}
    base = settings.pop('from', 'shipped')
    if base not in ARMS:
        raise ArmError(f'{path}, arm {name!r}: there is no arm {base!r} to begin from.')
    try:
        return arm_of(name, {**ARMS[base].settings, **settings})
    except ConfigError as error:
        raise ArmError(f'{path}, arm {name!r}: {error}') from None
