"""Two robots, one gateway, simulated replicas: a conversation has one slot from its first turn to its last."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath
from typing import Any

import pytest
import uvicorn
from node_process import Listener
from serving_fleet import SimulatedFleet

from pace_msgs import msg
from pace_msgs.srv import EndConversation
from pace_ros import packaged
from pace_ros.clock import SystemClock
from pace_ros.serving.app import make_app
from pace_ros.serving.l2_gateway import listening, url_of
from pace_ros.study.live_serving.lives import Lives, watched

ROBOTS, TURNS = ('robot_1', 'robot_2'), 3
QUESTIONS = ('Why do people love road trips?', 'Do you like jazz music?', 'Why is the sea salty?')
PARAMETERS = (
    'l1.enabled:=false', 'l0.enabled:=false', 'filler.mode:=off', 'l2.sticky:=gateway', 'l2.layout:=append',
    f'l2.persona_file:={packaged.config_dir() / "persona.local_llm.yaml"}',
)


@contextlib.contextmanager
def served(fleet: SimulatedFleet) -> Iterator[str]:
    """Its base URL; the server has a thread of its own."""
    bound = listening('127.0.0.1', 0)
    server = uvicorn.Server(uvicorn.Config(make_app(fleet.gateway), log_level='error', timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={'sockets': [bound]})
    thread.start()
    try:
        yield url_of(bound)
    finally:
        server.should_exit = True
        thread.join(10.0)
    assert not thread.is_alive()


@pytest.fixture
def visited(
    tmp_path: FilePath, robot: Callable[..., Any], listener: Callable[..., Any]
) -> tuple[SimulatedFleet, Lives, dict[str, list[msg.Turn]]]:
    """Visitors of the same name ask both robots the same questions, by turns."""
    fleet = SimulatedFleet(tmp_path, {'idle': 60.0, 'deadlines': {'first_token': 5.0, 'next_token': 5.0}},
                           clock=SystemClock())
    with served(fleet) as url, watched(url) as lives:
        heard: dict[str, Listener] = {}
        for name in ROBOTS:
            folder = tmp_path / name
            folder.mkdir()
            robot(url, *PARAMETERS, remaps=(f'__ns:=/{name}',), folder=folder)
            heard[name] = listener(name)
        for number, text in enumerate(QUESTIONS, start=1):
            for each in heard.values():
                each.say(text, locale='en-US', conversation_id='anna')
            for each in heard.values():
                each.turns(number)
        for name, each in heard.items():
            ended = each.call(EndConversation, f'/{name}/dialogue/end_conversation',
                              EndConversation.Request(conversation_id='anna'))
            assert ended.known
        anyone = next(iter(heard.values()))
        anyone.until(lambda: not list(fleet.gateway.conversations))
    return fleet, lives, {name: each.heard['turn'] for name, each in heard.items()}


def test_each_conversation_lives_in_one_slot_of_one_decoder(
    visited: tuple[SimulatedFleet, Lives, dict[str, list[msg.Turn]]]
) -> None:
    fleet, lives, turns = visited
    for each in turns.values():
        assert [(turn.path, turn.outcome) for turn in each] == [
            (msg.ResponseFrame.PATH_L2, msg.Turn.OUTCOME_ANSWERED)] * TURNS
    assert len(lives.seen) == len(ROBOTS), 'two visitors, though they have the same name'
    for life in lives.seen.values():
        assert life.replicas <= {'d1', 'd2'}
        assert len({place for each in life.turns.values() for place in each}) == 1
    assert {replica for life in lives.seen.values() for replica in life.replicas} == {'d1', 'd2'}
    tally = fleet.gateway.tally
    assert (tally.turns, tally.handed_over, tally.failed, tally.refused) == (2 * TURNS, 2, 0, 0)
    assert tally.cached > tally.read, 'later turns read what is new alone'
    assert list(fleet.gateway.ledger.accounts()) == fleet.files() == [], 'both visits were ended'
