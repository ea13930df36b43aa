"""How the node starts, or says why it does not."""
from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

import pytest
from node_process import ROOT, environment
from rclpy.node import Node

from pace_ros.ros.parameters import NodeConfig
from pace_ros.settings import ConfigError

KNOWN_ZH, KNOWN_EN = '云雀的续航是多少？', 'What is the range of the Lark?'


REFUSALS = {
    "Parameter 'l0.capacity' must be int, not 'many'.": ('-p', 'l0.capacity:=many'),
    'There is no embedding model at /nowhere/model.onnx.': ('-p', 'embedding.model:=/nowhere/model.onnx'),
    'The node cannot be started': ('--params-file', '/nowhere/none.yaml'),
}


@pytest.fixture(scope='module')
def refusing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, subprocess.Popen[str]]:
    """Nodes that cannot start, by the sentence with which they end; begun together."""
    folder = tmp_path_factory.mktemp('refusing')
    return {
        sentence: subprocess.Popen(
            [sys.executable, '-m', 'pace_ros.ros.dialogue', '--ros-args', '-p', f'data_dir:={folder}', *arguments],
            env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for sentence, arguments in REFUSALS.items()
    }


@pytest.mark.parametrize('sentence', REFUSALS)
def test_what_it_cannot_start_with_ends_the_node_with_a_sentence(
    refusing: dict[str, subprocess.Popen[str]], sentence: str
) -> None:
    _, errors = refusing[sentence].communicate(timeout=30.0)
    assert refusing[sentence].returncode == 1
    assert sentence in errors
    assert 'Traceback' not in errors


@pytest.mark.parametrize(('parameter', 'sentence'), [
    ('router.theta_cache:=1.5', "Parameter 'router.theta_cache' must be from 0.0 to 1.0, not 1.5."),
    ('filler.mode:=loud', "Parameter 'filler.mode' must be one of off, fixed, adaptive, not 'loud'."),
    ('l0.capacity:=many', "Parameter 'l0.capacity' must be int, not 'many'."),
])
def test_a_bad_parameter_is_refused_in_a_sentence(parameter: str, sentence: str) -> None:
    node = Node('refused', cli_args=['--ros-args', '-p', parameter])
    try:
        with pytest.raises(ConfigError, match=re.escape(sentence)):
            NodeConfig(node)
    finally:
        node.destroy_node()


def test_the_shipped_parameter_file_starts_the_node(tmp_path: FilePath) -> None:
    with (tmp_path / 'log').open('w') as log:
        parameters = ['--ros-args', '--params-file', str(ROOT / 'config/pace.yaml')]
        process = subprocess.Popen(
            [sys.executable, '-m', 'pace_ros.ros.dialogue', *parameters],
            env=environment(PACE_DATA_DIR=str(tmp_path)), stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 60.0
        while 'listening' not in (tmp_path / 'log').read_text():
            assert process.poll() is None, (tmp_path / 'log').read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        process.terminate()
        assert process.wait(10.0) == 0


def test_interrupted_while_it_loads_the_node_ends_in_time(robot: Callable[..., Any], tmp_path: FilePath) -> None:
    """At three moments somewhere between imports and readiness: each must do."""
    nodes, begun = {}, time.monotonic()
    for moment in (1.5, 2.5, 3.5):
        folder = tmp_path / str(moment)
        folder.mkdir()
        nodes[moment] = robot('http://127.0.0.1:9/v1', 'filler.generator:=true', 'speech.enabled:=true', wait='',
                              folder=folder)
    for moment, node in nodes.items():
        time.sleep(max(0.0, begun + moment - time.monotonic()))
        assert node.interrupt() < 2.0
