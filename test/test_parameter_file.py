from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import yaml

from pace_ros import packaged
from pace_ros.config import Config
from pace_ros.parameter_file import render
from pace_ros.settings import settings_of, value_of, with_values


def flat(tree: dict[str, Any], prefix: str = '') -> dict[str, object]:
    values: dict[str, object] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            values.update(flat(value, f'{prefix}{key}.'))
        else:
            values[f'{prefix}{key}'] = value
    return values


@pytest.fixture(scope='module')
def shipped() -> str:
    return (packaged.config_dir() / 'pace.yaml').read_text(encoding='utf-8')


@pytest.fixture(scope='module')
def parameters(shipped: str) -> dict[str, object]:
    return flat(yaml.safe_load(shipped)['/**']['ros__parameters'])


def test_the_shipped_file_is_what_the_configuration_tree_renders(shipped: str) -> None:
    assert shipped == render(), 'write it anew: python3 -m pace_ros.parameter_file > config/pace.yaml'


def test_the_module_prints_the_file(shipped: str) -> None:
    printed = subprocess.run(
        [sys.executable, '-m', 'pace_ros.parameter_file'], capture_output=True, check=True, timeout=60,
        cwd=packaged.config_dir().parent,
    )
    assert printed.stdout.decode() == shipped


def test_every_parameter_is_in_it_with_its_default_in_its_type(parameters: dict[str, object]) -> None:
    settings = list(settings_of(Config))
    assert list(parameters) == [each.name for each in settings]
    for each in settings:
        value = parameters[each.name]
        if isinstance(each.default, tuple):
            assert value == (list(each.default) or [''])
        else:
            assert value == each.default
            assert type(value) is type(each.default), each.name  # a float written "30" would be an int for ROS


def test_the_file_gives_the_default_configuration(parameters: dict[str, object]) -> None:
    config = with_values(Config(), parameters)
    assert config == Config()
    assert value_of(config, 'l1.knowledge') == ()


def test_every_parameter_is_explained_with_its_limits(shipped: str) -> None:
    text = ' '.join(shipped.replace('#', ' ').split())
    for each in settings_of(Config):
        wanted = each.doc
        if each.choices:
            wanted += f' One of: {", ".join(each.choices)}.'
        elif each.low is not None:
            wanted += f' From {each.low:g} to {each.high:g}.'
        assert f'{wanted}{" [fixed]" if each.read_only else ""} {each.name.rpartition(".")[2]}: ' in text


def test_no_line_is_too_long_to_read(shipped: str) -> None:
    assert max(map(len, shipped.splitlines())) <= 120
