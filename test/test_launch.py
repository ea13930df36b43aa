"""The launch files, where ROS 2's launch is installed."""
from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

launch = pytest.importorskip('launch', reason='ROS 2 launch is not installed')
pytest.importorskip('launch_ros', reason='ROS 2 launch_ros is not installed')

LAUNCH = Path(__file__).resolve().parents[1] / 'launch'


def described(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, LAUNCH / f'{name}.launch.py')
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate_launch_description()


def test_pace_launch_declares_its_arguments() -> None:
    arguments = {argument.name for argument in described('pace').get_launch_arguments()}
    assert arguments == {'namespace', 'params_file', 'use_sim_time', 'autostart', 'log_level', 'use_respawn',
                         'observer'}


def test_demo_launch_declares_its_arguments() -> None:
    from launch.actions import DeclareLaunchArgument

    names = {entity.name for entity in described('demo').entities if isinstance(entity, DeclareLaunchArgument)}
    assert names == {'namespace', 'log_level'}


def test_pace_launch_starts_the_node_in_its_namespace(tmp_path: Path) -> None:
    from launch.actions import IncludeLaunchDescription, RegisterEventHandler, Shutdown, TimerAction
    from launch.event_handlers import OnProcessIO
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    parameters = tmp_path / 'quick.yaml'
    parameters.write_text(
        f'/**: {{ros__parameters: {{data_dir: "{tmp_path}", '
        'speech: {enabled: false}, filler: {generator: false}}}'
    )
    seen: list[str] = []

    def on_output(event: Any) -> Any:
        seen.append(event.text.decode())
        both = all(any(word in line for line in seen) for word in ('listening', 'observing'))
        return Shutdown() if both else None

    service = launch.LaunchService(noninteractive=True)
    service.include_launch_description(launch.LaunchDescription([
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(LAUNCH / 'pace.launch.py')),
            launch_arguments={
                'namespace': 'robot1', 'params_file': str(parameters), 'observer': 'true',
            }.items(),
        ),
        RegisterEventHandler(OnProcessIO(on_stdout=on_output, on_stderr=on_output)),
        TimerAction(period=60.0, actions=[Shutdown(reason='deadline')]),
    ]))
    os.environ.setdefault('ROS_LOG_DIR', str(tmp_path))
    assert service.run() == 0
    assert '[robot1.dialogue]: listening' in ''.join(seen)
    assert '[robot1.onset_observer]: observing' in ''.join(seen)
