"""Arms of one's own, from a YAML file: settings by name, put over the shipped configuration or over another arm.

patient: {from: pace-full, filler.budget_high: 2.0}
"""
from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pace_ros.config import Config
from pace_ros.settings import ConfigError
from pace_ros.study.evaluation.arms import ARMS, Arm
from pace_ros.study.refusal import Refusal

FROM = 'from'
_NAME = re.compile(r'[\w.-]+')


class ArmError(Refusal):
    """An arm that cannot be used; the message names it."""


def read_arms(path: Path) -> dict[str, Mapping[str, Any]]:
    """The settings of a file's arms, by name. Raises ArmError for what is no mapping, an unknown setting, or a bad
    value.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ArmError(f'{path} cannot be read: {" ".join(str(error).split())}') from None
    if not isinstance(content, dict) or not content:
        raise ArmError(f'{path} must map names of arms to settings.')
    for name, fields in content.items():
        try:
            arm_of(str(name), fields)
        except ArmError as error:
            raise ArmError(f'{path}: {error}') from None
    return {str(name): fields for name, fields in content.items()}


def arm_of(name: str, fields: object) -> Arm:
    """An arm of these settings, which may say ``from`` which arm they begin. Raises ArmError."""
    if name in ARMS:
        raise ArmError(f'there is an arm {name!r} already.')
    if not _NAME.fullmatch(name):
        raise ArmError(f'an arm must be named by letters, digits, dots and hyphens, not {name!r}.')
    if not isinstance(fields, Mapping):
        raise ArmError(f'arm {name!r} must map settings to values.')
    settings = {str(key): value for key, value in fields.items()}
    base = settings.pop(FROM, 'shipped')
    if base not in ARMS:
        raise ArmError(f'arm {name!r}: there is no arm {base!r} to begin from.')
    arm = dataclasses.replace(
        ARMS[base], name=name, title=name, settings={**ARMS[base].settings, **settings}, note=f'your own, from {base}'
    )
    try:
        arm.config(Config())
    except ConfigError as error:
        raise ArmError(f'arm {name!r}: {error}') from None
    return arm
