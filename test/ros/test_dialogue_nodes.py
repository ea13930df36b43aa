"""Dialogue nodes of their own parameters, or with a life of their own."""
from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

import pytest
from frames import check_frames, frames_by_turn
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from node_process import environment
from std_srvs.srv import Trigger
from support import STALL, Script, answer, chunk, sse

from pace_msgs import msg
from pace_msgs.srv import EndConversation, Invalidate
from pace_ros.cache import SemanticCache
from pace_ros.clock import SystemClock
from pace_ros.embedding import Embedder
from pace_ros.record import read_turns
from pace_ros.ros.qos import SENSOR
from pace_ros.turn import Outcome, Path

KNOWN_ZH, KNOWN_EN = '云雀的续航是多少？', 'What is the range of the Lark?'


def test_a_turn_over_dds_is_complete_and_in_order(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    model = cloud(Script([0.4, answer('Mars', ' is cold.')]))
    robot(model.base_url, 'router.mode:=static', 'filler.mode:=fixed', 'filler.budget:=0.05')
    heard = listener()
    heard.say('What are the rings of Saturn made of?', locale='en-US')
    (turn,) = heard.turns(1)
    heard.spin(0.3)
    said = [(message.header.stamp, name) for name, message in heard.order if name in ('filler', 'answer', 'turn')]
    names = [name for _, name in sorted(said, key=lambda pair: (pair[0].sec, pair[0].nanosec))]
    assert names == ['filler', 'answer', 'answer', 'answer', 'turn'], 'by stamp: topics may overtake each other'
    check_frames(frames_by_turn(heard)[turn.turn_id], turn)
    assert (turn.path, turn.answer, turn.filler_shown) == (Path.L2, 'Mars is cold.', True)
    assert 0.0 < turn.filler_elapsed < turn.ptfr
    assert turn.perceived_latency == turn.filler_elapsed
    assert turn.ttft >= 0.4
    assert (turn.theta_cache, turn.theta_direct, turn.filler_budget) == (0.95, 0.75, 0.05)
    assert turn.load_index == pytest.approx(0.7 * 0.5 / 3 + 0.3 / 60 / 8), 'x0 = 1.5 s, one arrival'
    assert (turn.p_instant, turn.filler_decision, turn.filler_conflict) == (pytest.approx(0.3), 'fixed', '')
    assert turn.gate == msg.ControllerState.GATE_STATIC
    onsets = [(onset.modality, onset.content) for onset in heard.heard['onset']]
    assert sorted(onsets) == sorted([
        (msg.Onset.MODALITY_GAZE, msg.Onset.CONTENT_ACKNOWLEDGEMENT),
        (msg.Onset.MODALITY_GESTURE, msg.Onset.CONTENT_ACKNOWLEDGEMENT),
        (msg.Onset.MODALITY_TEXT, msg.Onset.CONTENT_FILLER),
        (msg.Onset.MODALITY_TEXT, msg.Onset.CONTENT_ANSWER),
    ])
    assert all(onset.source == msg.Onset.SOURCE_COMMANDED for onset in heard.heard['onset'])
    assert [gesture.name for gesture in heard.heard['gesture']] == ['nod']
    assert heard.heard['gaze_target'][-1].header.frame_id == 'visitor'


def test_the_lifecycle_opens_and_closes_the_ears(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    model = cloud(Script([sse(chunk('Once upon')), STALL]))
    node = robot(model.base_url, 'autostart:=false', 'l2.inter_token_timeout:=30.0', wait='')
    heard = listener(ready=False)

    def change(transition: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=transition))
        return heard.call(ChangeState, 'dialogue/change_state', request).success

    assert heard.call(GetState, 'dialogue/get_state').current_state.id == State.PRIMARY_STATE_UNCONFIGURED
    assert change(Transition.TRANSITION_CONFIGURE)
    heard.ready().say(KNOWN_EN)
    heard.spin(1.5)
    assert not [name for name, _ in heard.order if name != 'controller_state']
    assert heard.heard['controller_state']
    assert change(Transition.TRANSITION_ACTIVATE)
    heard.say(KNOWN_EN)
    assert heard.turns(1)[0].outcome == Outcome.ANSWERED
    heard.say('Tell me a long story')
    heard.until(lambda: any(frame.path == Path.L2 for frame in heard.heard['answer']))
    assert change(Transition.TRANSITION_DEACTIVATE)
    assert heard.turns(2)[1].outcome == Outcome.CANCELLED
    assert change(Transition.TRANSITION_CLEANUP)
    assert len(list(read_turns(node.folder / 'turns.jsonl'))) == 2
    assert change(Transition.TRANSITION_CONFIGURE)
    assert change(Transition.TRANSITION_ACTIVATE)
    heard.ready().say(KNOWN_EN)
    assert heard.turns(3)[2].outcome == Outcome.ANSWERED
    assert node.interrupt() < 2.0


def test_services_the_last_of_which_ends_the_process(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any], tmp_path: FilePath
) -> None:
    knowledge = tmp_path / 'knowledge.yaml'
    entry = '- {id: moon, questions: {en: ["What is the moon made of?"]}, answer: {en: %s}}\n'
    knowledge.write_text(entry % 'Of rock.')
    model = cloud(answer('Of rock', ' and dust.'))
    node = robot(model.base_url, f'l1.knowledge:=["{knowledge}"]', f'l0.file:={tmp_path / "l0.sqlite"}',
          'router.mode:=static', 'router.theta_direct:=0.99')
    heard = listener()
    heard.say('So what is the moon really made of, then?', conversation_id='v')
    assert heard.turns(1)[0].path == Path.L2
    saved = heard.call(Trigger, 'dialogue/save_cache')
    assert (saved.success, saved.message) == (True, '1 answers saved')
    assert (tmp_path / 'l0.sqlite').is_file()
    heard.say('So what is the moon really made of, then?', conversation_id='w')
    assert heard.turns(2)[1].path == Path.L0

    knowledge.write_text('- {id: moon, questions: {en: []}}\n')
    broken = heard.call(Trigger, 'dialogue/reload_knowledge')
    assert not broken.success
    assert "line 1, field 'questions.en'" in broken.message
    knowledge.write_text(entry % 'Of green cheese.')
    reloaded = heard.call(Trigger, 'dialogue/reload_knowledge')
    assert (reloaded.success, reloaded.message) == (True, '0 added; 1 changed: moon; 0 withdrawn')
    heard.say('So what is the moon really made of, then?', conversation_id='x')
    assert heard.turns(3)[2].path == Path.L2

    assert heard.call(Invalidate, 'dialogue/invalidate', Invalidate.Request(terms=['MOON'])).removed == 1
    assert heard.call(Invalidate, 'dialogue/invalidate', Invalidate.Request(entry_ids=['moon'])).removed == 0
    cleared = heard.call(Trigger, 'dialogue/clear_cache')
    assert (cleared.success, cleared.message) == (True, '0 answers removed')
    end = EndConversation.Request(conversation_id='v')
    assert heard.call(EndConversation, 'dialogue/end_conversation', end).known
    assert not heard.call(EndConversation, 'dialogue/end_conversation', end).known

    ended = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_ACTIVE_SHUTDOWN))
    heard.node.create_client(ChangeState, 'dialogue/change_state').call_async(ended)
    heard.until(lambda: node.process.poll() is not None)
    assert node.process.returncode == 0, 'shut down from outside'
    assert 'Traceback' not in node.log.read_text()


def test_two_robots_in_two_namespaces_do_not_hear_each_other(
    robot: Callable[..., Any], listener: Callable[..., Any], tmp_path: FilePath
) -> None:
    nodes = []
    for name in ('one', 'two'):
        (tmp_path / name).mkdir()
        nodes.append(robot(remaps=(f'__ns:=/{name}',), folder=tmp_path / name, wait=''))
    for each in nodes:
        each.wait_for('listening')
    one, two = listener('/one'), listener('/two')
    one.say(KNOWN_EN)
    assert one.turns(1)[0].path == Path.L1
    two.spin(0.5)
    assert not two.heard['turn']
    two.say(KNOWN_EN)
    assert two.turns(1)[0].path == Path.L1
    assert len(one.heard['turn']) == 1


def test_a_best_effort_recogniser_is_heard_if_qos_is_overridden(
    robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    robot('http://127.0.0.1:9/v1', 'qos_overrides./utterance.subscription.reliability:=best_effort')
    heard = listener()
    heard.node.destroy_publisher(heard.utterances)
    heard.utterances = heard.node.create_publisher(msg.Utterance, 'utterance', SENSOR)
    heard.ready().say(KNOWN_EN)
    assert heard.turns(1)[0].path == Path.L1


def test_diagnostics_show_every_level(robot: Callable[..., Any], listener: Callable[..., Any]) -> None:
    from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

    robot('http://127.0.0.1:9/v1', 'l2.breaker_failures:=1', 'l2.retries:=0')
    heard = listener()
    arrays: list[DiagnosticArray] = []
    heard.node.create_subscription(DiagnosticArray, '/diagnostics', arrays.append, 10)
    heard.until(lambda: bool(arrays))
    levels = ['L0', 'L1', 'L2', 'router', 'filler', 'speech', 'body']
    assert [status.name.split(': ')[1] for status in arrays[0].status] == levels
    assert arrays[0].status[2].level == DiagnosticStatus.OK
    heard.say('What are the rings of Saturn made of?')
    turn = heard.turns(1)[0]
    assert turn.outcome in (Outcome.FAILED, Outcome.ANSWERED)
    assert turn.path == Path.FALLBACK
    arrays.clear()
    heard.until(lambda: bool(arrays) and arrays[-1].status[2].level == DiagnosticStatus.ERROR)
    assert arrays[-1].status[2].message == 'breaker open'


def test_interrupted_the_node_ends_in_time_with_cache_and_records_on_disk_and_goals_answered(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any], tmp_path: FilePath,
    embedder: Embedder,
) -> None:
    model = cloud(answer('Cold.'), Script([sse(chunk('Once')), STALL]))
    node = robot(model.base_url, f'l0.file:={tmp_path / "l0.sqlite"}', 'filler.generator:=true', 'speech.enabled:=true',
                 'l2.inter_token_timeout:=30.0')
    heard = listener()
    heard.say('What are the rings of Saturn made of?', conversation_id='a')
    heard.turns(1)
    client = subprocess.Popen(
        [sys.executable, '-m', 'pace_ros.ros.ask', 'Tell me a long story'], env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )
    heard.until(lambda: any(frame.text == 'Once' for frame in heard.heard['answer']))
    assert node.interrupt() < 2.0
    assert node.process.returncode == 0
    outcomes = [record.outcome for record in read_turns(tmp_path / 'turns.jsonl')]
    assert sorted(outcomes) == [Outcome.ANSWERED, Outcome.CANCELLED]
    output, errors = client.communicate(timeout=10.0)
    assert 'CANCELLED by L2' in output, errors
    kept = SemanticCache(dimension=embedder.dimension, capacity=10, half_life=60.0, clock=SystemClock(),
                         file=tmp_path / 'l0.sqlite', fingerprint=embedder.fingerprint)
    assert len(kept) == 1
    kept.close()


def resident_mb(pid: int) -> float:
    status = FilePath(f'/proc/{pid}/status').read_text()
    return int(status.split('VmRSS:')[1].split()[0]) / 1024


def test_cleanup_frees_the_models(robot: Callable[..., Any], listener: Callable[..., Any]) -> None:
    node = robot('http://127.0.0.1:9/v1', 'filler.generator:=true')
    heard = listener()

    def change(*transitions: int) -> None:
        for transition in transitions:
            request = ChangeState.Request(transition=Transition(id=transition))
            assert heard.call(ChangeState, 'dialogue/change_state', request).success

    used, sizes = resident_mb(node.process.pid), []
    for _ in range(2):
        change(Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP)
        sizes.append(resident_mb(node.process.pid))
        if len(sizes) == 1:
            change(Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)
    assert used - sizes[0] > 100.0, f'the models alone are more: {used}, {sizes}'
    assert sizes[1] - sizes[0] < 30.0, f'a generation of models is about 100 MB: {sizes}'
