"""Rules of the house that a reader relies on."""
from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from pace_ros.config import Config
from pace_ros.settings import settings_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / 'pace_ros'
MODULES = sorted(PACKAGE.rglob('*.py'))


def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            names.update(alias.name.split('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split('.')[0])
    return names


@pytest.mark.parametrize('path', MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_ros_room_knows_ros(path: Path) -> None:
    if 'ros' not in path.relative_to(PACKAGE).parts[:-1]:
        assert not imports(path) & {'rclpy', 'pace_msgs', 'std_msgs', 'std_srvs', 'geometry_msgs', 'diagnostic_msgs'}


def test_every_declared_parameter_is_read_somewhere() -> None:
    source = '\n'.join(path.read_text(encoding='utf-8') for path in MODULES if not path.name.startswith('config'))
    unread = [
        setting.name for setting in settings_of(Config)
        if not re.search(rf'\.{setting.name.rsplit(".", 1)[-1]}\b', source)
    ]
    assert unread == []


def test_the_api_key_is_named_in_one_place_only() -> None:
    named = [path.name for path in MODULES if 'PACE_L2_API_KEY' in path.read_text(encoding='utf-8')]
    assert named == ['endpoint.py']


def test_package_versions_agree() -> None:
    versions = {
        re.search(r'<version>(.*?)</version>', (ROOT / 'package.xml').read_text()).group(1),
        re.search(r'<version>(.*?)</version>', (ROOT / 'pace_msgs/package.xml').read_text()).group(1),
        re.search(r"version='(.*?)'", (ROOT / 'setup.py').read_text()).group(1),
        re.search(r'^(\d\S*) \(', (ROOT / 'CHANGELOG.rst').read_text(), re.MULTILINE).group(1),
    }
    assert versions == {'0.1.0'}


def test_every_installed_executable_has_its_main() -> None:
    entries = re.findall(r"'(\w+) = ([\w.]+):main'", (ROOT / 'setup.py').read_text())
    assert {name for name, _ in entries} == {
        'ask', 'bag', 'cache', 'demo', 'dialogue', 'l2_fleet', 'l2_gateway', 'l2_replica', 'local_llm',
        'onset_observer', 'session', 'sim_robot', 'spot_check', 'study', 'volatility',
    }
    for _, module in entries:
        path = ROOT / (module.replace('.', '/') + '.py')
        functions = [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
        assert 'main' in functions
