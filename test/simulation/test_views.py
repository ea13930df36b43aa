"""The files in config/ by which the simulated robot can be looked at."""
from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pace_ros.simulation import SimRobot
from pace_ros.simulation.motions import HEAD, HEAD_HEIGHT, RANGES

CONFIG = Path(__file__).resolve().parents[2] / 'config'


@pytest.fixture(scope='module')
def robot() -> ET.Element:
    return ET.parse(CONFIG / 'sim_robot.urdf').getroot()  # noqa: S314  our own file


def numbers(text: str) -> list[float]:
    return [float(each) for each in text.split()]


def test_the_robot_is_one_tree_and_says_it_is_simulated(robot: ET.Element) -> None:
    assert 'simulated' in robot.get('name')
    links = [each.get('name') for each in robot.iter('link')]
    children = [each.find('child').get('link') for each in robot.iter('joint')]
    parents = {each.find('parent').get('link') for each in robot.iter('joint')}
    assert len(set(links)) == len(links)
    assert len(set(children)) == len(children)
    assert {*children, 'base_link'} == set(links)
    assert parents <= set(links)


def test_every_joint_published_is_there_with_the_limits_it_keeps(robot: ET.Element) -> None:
    moving = {each.get('name'): each.find('limit') for each in robot.iter('joint') if each.get('type') == 'revolute'}
    assert {name: (float(each.get('lower')), float(each.get('upper'))) for name, each in moving.items()} == RANGES
    settings = SimRobot()
    for name, limit in moving.items():
        actuator = settings.head if name in HEAD else settings.arms
        assert float(limit.get('velocity')) == actuator.velocity


def test_head_and_visitor_stand_where_the_robot_takes_them_to_be(robot: ET.Element) -> None:
    origins = {each.get('name'): each.find('origin') for each in robot.iter('joint')}
    assert numbers(origins['head_yaw'].get('xyz')) == [0.0, 0.0, HEAD_HEIGHT]
    visitor = SimRobot().visitor
    assert numbers(origins['visitor_place'].get('xyz')) == [visitor.x, visitor.y, visitor.z]


def test_shapes_are_primitive_and_materials_are_defined(robot: ET.Element) -> None:
    assert {each.tag for shape in robot.iter('geometry') for each in shape} == {'box', 'cylinder', 'sphere'}
    defined = {each.get('name') for each in robot.findall('material')}
    assert {each.get('name') for visual in robot.iter('visual') for each in visual.iter('material')} == defined


def test_rviz_shows_the_robot_and_axes_of_its_links(robot: ET.Element) -> None:
    manager = yaml.safe_load((CONFIG / 'sim_robot.rviz').read_text())['Visualization Manager']
    displays = {each['Class'].rsplit('/')[-1]: each for each in manager['Displays']}
    assert {'RobotModel', 'TF', 'Grid', 'PointStamped'} == set(displays)
    frames = set(displays['TF']['Frames']) - {'All Enabled'}
    assert frames <= {each.get('name') for each in robot.iter('link')}
    assert manager['Global Options']['Fixed Frame'] == 'base_link'


def leaves(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
        return
    yield from leaves(node['first'])
    yield from leaves(node['second'])


def test_the_foxglove_layout_places_every_panel_once_and_plots_every_joint() -> None:
    layout = json.loads((CONFIG / 'sim_robot.foxglove.json').read_text())
    panels = layout['configById']
    assert sorted(leaves(layout['layout'])) == sorted(panels)
    plotted = {each['value']: each['label'] for each in panels['Plot!joints']['paths']}
    assert plotted == {f'/joint_states.position[{index}]': name for index, name in enumerate(RANGES)}
    topics = {each['topicPath'] for name, each in panels.items() if name.startswith('RawMessages!')}
    assert topics == {'/onset', '/ground_truth', '/turn'}
    assert re.match(r'/audio_level\.rms', panels['Plot!level']['paths'][0]['value'])
