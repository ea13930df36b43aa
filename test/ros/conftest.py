"""Fixtures that start nodes, clouds and listeners, and end them with the test."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rclpy
from bag_process import Tool
from node_process import QUICK, Cloud, Listener, Robot, end_all
from resident import Resident
from support import Script, answer


@pytest.fixture
def cloud() -> Iterator[Callable[..., Cloud]]:
    """Makes scripted clouds that end with the test."""
    made: list[Cloud] = []

    def make(*scripts: Script | bytes) -> Cloud:
        made.append(Cloud(*(scripts or (answer('Hello', ' visitor.'),))))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[Callable[..., Robot]]:
    """Starts dialogue nodes and ends them with the test."""
    made: list[Robot] = []

    def make(base_url: str = 'http://127.0.0.1:9/v1', *parameters: str, wait: str = 'listening',
             remaps: tuple[str, ...] = (), quick: bool = True, folder: Path = tmp_path) -> Robot:
        made.append(Robot(folder, base_url, [*(QUICK if quick else []), *parameters], list(remaps)))
        if wait:
            made[-1].wait_for(wait)
        return made[-1]

    yield make
    end_all(made)


@pytest.fixture(scope='module')
def resident_parameters() -> list[str]:
    """Further parameters of the module's node; a module that needs any has a fixture of its own by this name."""
    return []


@pytest.fixture(scope='module')
def residence(
    resident_parameters: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Robot, Cloud]]:
    """A dialogue node for all tests of a module, with its cloud."""
    model, folder = Cloud(answer('Hello', ' visitor.')), tmp_path_factory.mktemp('resident')
    node = Robot(folder, model.base_url, [*QUICK, *resident_parameters], [])
    try:
        node.wait_for('listening')
        yield node, model
    finally:
        end_all([node])
        model.close()


@pytest.fixture
def resident(residence: tuple[Robot, Cloud], listener: Callable[..., Listener]) -> Iterator[Resident]:
    """The module's node, as it was started."""
    node, model = residence
    model.play(answer('Hello', ' visitor.'))
    lent = Resident(node, model, listener())
    yield lent
    lent.restore()


@pytest.fixture(scope='session', autouse=True)
def ros() -> Iterator[None]:
    """One rclpy context for the test process, and a node that keeps it known to the others: while there is one, those
    that come are known at once, but the first needs the periodic announcements of all, up to 3 s.
    """
    rclpy.init()
    anchor = rclpy.create_node('anchor')
    yield
    anchor.destroy_node()
    rclpy.try_shutdown()


@pytest.fixture
def listener() -> Iterator[Callable[..., Listener]]:
    """Makes listeners that end with the test."""
    made: list[Listener] = []

    def make(namespace: str = '', *, ready: bool = True) -> Listener:
        made.append(Listener(namespace))
        return made[-1].ready() if ready else made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def bag(tmp_path: Path) -> Iterator[Callable[..., Tool]]:
    """Starts `bag` commands and ends them with the test."""
    made: list[Tool] = []

    def run(*arguments: object) -> Tool:
        made.append(Tool(tmp_path, *arguments))
        return made[-1]

    yield run
    for each in made:
        with contextlib.suppress(ProcessLookupError):
            each.process.kill()
        each.process.wait()
