"""The node as another process meets it, over DDS."""
from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

import pytest
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from node_process import ROOT, environment
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, SetParameters
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from support import STALL, Script, answer, chunk, sse

from pace_msgs import msg
from pace_msgs.srv import EndConversation, Invalidate
from pace_ros.record import read_turns
from pace_ros.ros.qos import SENSOR
from pace_ros.turn import Outcome, Path

KNOWN_ZH, KNOWN_EN = '云雀的续航是多少？', 'What is the range of the Lark?'


def check_frames(frames: list[msg.ResponseFrame], turn: msg.Turn) -> None:
    """seq gapless, one `last` on an answered turn, filler before answer."""
    assert [frame.seq for frame in frames] == list(range(len(frames)))
    assert {frame.conversation_id for frame in frames} == {turn.conversation_id}
    kinds = [frame.kind for frame in frames]
    assert kinds == sorted(kinds)
    assert kinds.count(msg.ResponseFrame.KIND_FILLER) <= 1
    lasts = [frame.last for frame in frames]
    assert lasts.count(True) == int(turn.outcome == Outcome.ANSWERED)
    if turn.outcome == Outcome.ANSWERED:
        assert lasts[-1]
        assert ''.join(frame.text for frame in frames if frame.kind == frame.KIND_ANSWER) == turn.answer
        assert turn.ptfr == pytest.approx(turn.t_embed + turn.t_route + turn.t_path, abs=1e-6)


def frames_by_turn(heard: Any) -> dict[str, list[msg.ResponseFrame]]:
    frames = defaultdict(list)
    for frame in sorted([*heard.heard['filler'], *heard.heard['answer']], key=lambda frame: frame.seq):
        frames[frame.turn_id].append(frame)
    return frames


def test_two_hundred_utterances_in_a_row(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    model = cloud(answer('Sure', ', any', ' time.'))
    node, heard = robot(model.base_url), listener()
    questions = [KNOWN_ZH, KNOWN_EN, 'Tell me about the rings of Saturn', '给我讲讲土星的光环']
    for number in range(200):
        heard.say(questions[number % 4], utterance_id=f'u{number}', conversation_id=f'c{number % 5}')
        heard.turns(number + 1)
    heard.spin(0.3)
    turns = heard.heard['turn']
    assert [turn.utterance_id for turn in turns] == [f'u{number}' for number in range(200)]
    frames = frames_by_turn(heard)
    for turn in turns:
        assert turn.outcome == Outcome.ANSWERED
        check_frames(frames[turn.turn_id], turn)
    assert {Path(turn.path) for turn in turns} == {Path.L0, Path.L1, Path.L2}
    assert node.interrupt() < 2.0
    assert len(list(read_turns(node.folder / 'turns.jsonl'))) == 200


def test_twenty_conversations_interleaved(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    slow = Script([sse(chunk('One')), 0.3, sse(chunk(' two.', finish='stop'), '[DONE]')])
    model = cloud(slow)
    robot(model.base_url, 'filler.mode:=fixed', 'filler.budget:=0.05')
    heard = listener()
    for round_number in range(5):
        for number in range(20):
            heard.say(f'Please tell me story {round_number} of {number}', utterance_id=f'{number}/{round_number}',
                      conversation_id=f'c{number}')
        heard.turns(20 * (round_number + 1))
    heard.spin(0.3)
    turns = heard.heard['turn']
    assert sorted(turn.utterance_id for turn in turns) == sorted(f'{n}/{r}' for n in range(20) for r in range(5))
    frames = frames_by_turn(heard)
    for turn in turns:
        assert turn.outcome == Outcome.ANSWERED, turn.reason
        assert turn.conversation_id == f'c{turn.utterance_id.split("/")[0]}'
        check_frames(frames[turn.turn_id], turn)


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


@pytest.mark.parametrize(('text', 'reason'), [
    ('', 'empty'), ('  \n\t ', 'blank'), ('x' * 501, 'max_utterance_chars'),
])
def test_what_is_no_question_is_refused_with_a_reason(
    robot: Callable[..., Any], listener: Callable[..., Any], text: str, reason: str
) -> None:
    robot()
    heard = listener()
    heard.say(text, utterance_id='bad')
    (turn,) = heard.turns(1)
    assert (turn.outcome, turn.utterance_id) == (Outcome.REJECTED, 'bad')
    assert reason in turn.reason
    assert not heard.heard['answer']


def test_partial_hypotheses_are_ignored(robot: Callable[..., Any], listener: Callable[..., Any]) -> None:
    robot()
    heard = listener()
    heard.say('What is the ran', partial=True, utterance_id='u')
    heard.say(KNOWN_EN, utterance_id='u')
    heard.turns(1)
    heard.spin(0.3)
    assert len(heard.heard['turn']) == 1


def test_the_next_utterance_of_a_conversation_silences_the_last(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    model = cloud(Script([sse(chunk('Once upon')), STALL]))
    robot(model.base_url, 'l2.inter_token_timeout:=30.0')
    heard = listener()
    heard.say('Tell me a long story', utterance_id='first')
    heard.until(lambda: bool(heard.heard['answer']))
    heard.say(KNOWN_EN, utterance_id='second')
    first, second = heard.turns(2)
    heard.spin(0.3)
    assert (first.utterance_id, first.outcome) == ('first', Outcome.PREEMPTED)
    assert (second.utterance_id, second.outcome, second.path) == ('second', Outcome.ANSWERED, Path.L1)
    after = heard.order[heard.order.index(('turn', first)) + 1:]
    assert not [message for name, message in after if name not in {'controller_state', 'gaze_target'}
                and message.turn_id == first.turn_id]


def test_stop_cancels_every_running_turn(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    model = cloud(Script([sse(chunk('Once upon')), STALL]))
    robot(model.base_url, 'l2.inter_token_timeout:=30.0')
    heard = listener()
    for name in 'ab':
        heard.say('Tell me a long story', conversation_id=name)
    heard.until(lambda: len(heard.heard['answer']) == 2)
    response = heard.call(Trigger, 'dialogue/stop')
    assert (response.success, response.message) == (True, '2 turns stopped')
    assert {turn.outcome for turn in heard.turns(2)} == {Outcome.CANCELLED}


def test_voice_activity_stops_the_robot_where_it_may(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    model = cloud(Script([sse(chunk('Once upon a time there was a car. ')), STALL]))
    robot(model.base_url, 'speech.enabled:=true', 'speech.sink:=null', 'barge_in.on_voice:=true',
          'l2.inter_token_timeout:=30.0')
    heard = listener()
    voice = heard.node.create_publisher(Bool, 'user_speaking', SENSOR)
    heard.until(lambda: voice.get_subscription_count() > 0)
    heard.say('Tell me a long story', locale='en-US')
    heard.until(lambda: any(onset.modality == onset.MODALITY_SPEECH for onset in heard.heard['onset']))
    heard.until(lambda: voice.publish(Bool(data=True)) or bool(heard.heard['turn']), 5.0)
    assert heard.heard['turn'][0].outcome == Outcome.PREEMPTED
    assert 'began to speak' in heard.heard['turn'][0].reason


def test_speech_on_a_topic_comes_as_samples(robot: Callable[..., Any], listener: Callable[..., Any]) -> None:
    robot('http://127.0.0.1:9/v1', 'speech.enabled:=true', 'speech.sink:=topic')
    heard = listener()
    heard.say(KNOWN_EN)
    heard.turns(1)
    heard.until(lambda: sum(len(chunk.samples) for chunk in heard.heard['speech_audio']) > 22050)
    assert {chunk.sample_rate for chunk in heard.heard['speech_audio']} == {22050}
    assert heard.heard['speech_audio'][0].turn_id == heard.heard['turn'][0].turn_id


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


def test_services(cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any],
                  tmp_path: FilePath) -> None:
    knowledge = tmp_path / 'knowledge.yaml'
    entry = '- {id: moon, questions: {en: ["What is the moon made of?"]}, answer: {en: %s}}\n'
    knowledge.write_text(entry % 'Of rock.')
    model = cloud(answer('Of rock', ' and dust.'))
    robot(model.base_url, f'l1.knowledge:=["{knowledge}"]', f'l0.file:={tmp_path / "l0.sqlite"}',
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


def test_parameters_have_descriptors_and_refuse_bad_values(
    robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    robot()
    heard = listener()
    described = heard.call(DescribeParameters, 'dialogue/describe_parameters',
                           DescribeParameters.Request(names=['router.theta_cache', 'l2.base_url', 'filler.mode']))
    theta, url, mode = described.descriptors
    assert (theta.floating_point_range[0].from_value, theta.floating_point_range[0].to_value) == (0.0, 1.0)
    assert not theta.read_only
    assert url.read_only
    assert mode.additional_constraints == 'one of: off, fixed, adaptive'
    assert all(each.description for each in described.descriptors)

    def put(name: str, **value: Any) -> Any:
        parameter = Parameter(name=name, value=ParameterValue(**value))
        return heard.call(SetParameters, 'dialogue/set_parameters',
                          SetParameters.Request(parameters=[parameter])).results[0]

    double, text = ParameterType.PARAMETER_DOUBLE, ParameterType.PARAMETER_STRING
    assert not put('router.theta_cache', type=double, double_value=1.5).successful
    bad = put('filler.mode', type=text, string_value='loud')
    refusal = "Parameter 'filler.mode' must be one of off, fixed, adaptive, not 'loud'."
    assert (bad.successful, bad.reason) == (False, refusal)
    assert not put('l2.base_url', type=text, string_value='http://other').successful
    assert 'JSON' in put('l2.extra_body', type=text, string_value='{').reason
    assert put('router.mode', type=text, string_value='static').successful
    assert put('router.theta_direct', type=double, double_value=1.0).successful
    heard.until(lambda: heard.heard['controller_state'][-1].theta_direct == 1.0)


def test_arm_switches_count_only_where_they_may(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    model = cloud(answer('From the cloud.'))
    node = robot(model.base_url)
    heard = listener()
    arm = msg.Arm(label='pure', l0='off', l1='off')
    for number in range(2):
        heard.say(KNOWN_EN, arm=arm)
        assert heard.turns(number + 1)[-1].path == Path.L1
    assert node.log.read_text().count('Utterance.arm is ignored') == 1
    allow = Parameter(name='allow_overrides', value=ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=True))
    assert heard.call(SetParameters, 'dialogue/set_parameters',
                      SetParameters.Request(parameters=[allow])).results[0].successful
    heard.say(KNOWN_EN, arm=arm)
    turn = heard.turns(3)[2]
    assert (turn.path, turn.arm) == (Path.L2, 'pure')
    heard.say(KNOWN_EN, arm=msg.Arm(l0='maybe'))
    assert 'l0' in heard.turns(4)[3].reason


def test_two_robots_in_two_namespaces_do_not_hear_each_other(
    robot: Callable[..., Any], listener: Callable[..., Any], tmp_path: FilePath
) -> None:
    for name in ('one', 'two'):
        (tmp_path / name).mkdir()
        robot('http://127.0.0.1:9/v1', remaps=(f'__ns:=/{name}',), folder=tmp_path / name)
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


def test_interrupted_the_node_ends_in_time_with_cache_and_records_on_disk(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any], tmp_path: FilePath
) -> None:
    model = cloud(answer('Cold.'), Script([sse(chunk('Once')), STALL]))
    node = robot(model.base_url, f'l0.file:={tmp_path / "l0.sqlite"}', 'filler.generator:=true', 'speech.enabled:=true',
                 'l2.inter_token_timeout:=30.0')
    heard = listener()
    heard.say('What are the rings of Saturn made of?', conversation_id='a')
    heard.turns(1)
    heard.say('Tell me a long story', conversation_id='b')
    heard.until(lambda: any(frame.text == 'Once' for frame in heard.heard['answer']))
    assert node.interrupt() < 2.0
    assert node.process.returncode == 0
    outcomes = [record.outcome for record in read_turns(tmp_path / 'turns.jsonl')]
    assert sorted(outcomes) == [Outcome.ANSWERED, Outcome.CANCELLED]
    again = robot(model.base_url, f'l0.file:={tmp_path / "l0.sqlite"}')
    assert '1 cached answers' in again.log.read_text()


@pytest.mark.parametrize(('parameter', 'sentence'), [
    ('router.theta_cache:=1.5', "Parameter 'router.theta_cache' must be from 0.0 to 1.0, not 1.5."),
    ('filler.mode:=loud', "Parameter 'filler.mode' must be one of off, fixed, adaptive, not 'loud'."),
    ('l0.capacity:=many', "Parameter 'l0.capacity' must be int, not 'many'."),
])
def test_a_bad_parameter_ends_the_node_with_a_sentence(
    robot: Callable[..., Any], parameter: str, sentence: str
) -> None:
    node = robot('http://127.0.0.1:9/v1', parameter, wait='')
    assert node.process.wait(30.0) == 1
    assert sentence in node.log.read_text()
    assert 'Traceback' not in node.log.read_text()


def test_a_missing_model_ends_the_node_with_a_sentence(robot: Callable[..., Any]) -> None:
    node = robot('http://127.0.0.1:9/v1', 'embedding.model:=/nowhere/model.onnx', wait='')
    assert node.process.wait(30.0) == 1
    assert 'There is no embedding model at /nowhere/model.onnx.' in node.log.read_text()
    assert 'Traceback' not in node.log.read_text()


def test_a_foreign_cache_is_refused_and_the_node_starts_empty(robot: Callable[..., Any], tmp_path: FilePath) -> None:
    (tmp_path / 'l0.sqlite').write_bytes(b'not a cache')
    node = robot('http://127.0.0.1:9/v1', f'l0.file:={tmp_path / "l0.sqlite"}')
    assert 'the cache starts empty' in node.log.read_text()


def test_records_without_text_hold_no_word_said(
    robot: Callable[..., Any], listener: Callable[..., Any], tmp_path: FilePath
) -> None:
    node = robot('http://127.0.0.1:9/v1', 'record.text:=false')
    heard = listener()
    heard.say(KNOWN_EN)
    heard.turns(1)
    assert node.interrupt() < 2.0
    line = (tmp_path / 'turns.jsonl').read_text()
    assert 'Lark' not in line
    assert json.loads(line)['path'] == 'L1'


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

    sizes = []
    for _ in range(4):
        change(Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP)
        change(Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)
        sizes.append(resident_mb(node.process.pid))
    assert sizes[-1] - sizes[1] < 60.0, f'a generation of models is about 100 MB: {sizes}'


def test_a_running_goal_gets_its_result_when_the_node_is_interrupted(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    node = robot(cloud(Script([sse(chunk('Once upon')), STALL])).base_url, 'l2.inter_token_timeout:=30.0')
    heard = listener()
    client = subprocess.Popen(
        [sys.executable, '-m', 'pace_ros.ros.ask', 'Tell me a long story'], env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )
    heard.until(lambda: bool(heard.heard['answer']))
    assert node.interrupt() < 2.0
    output, errors = client.communicate(timeout=10.0)
    assert 'CANCELLED by L2' in output, errors


def test_a_node_shut_down_from_outside_ends_its_process(
    robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    node = robot()
    request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_ACTIVE_SHUTDOWN))
    heard = listener()
    heard.node.create_client(ChangeState, 'dialogue/change_state').call_async(request)
    heard.until(lambda: node.process.poll() is not None)
    assert node.process.returncode == 0
    assert 'Traceback' not in node.log.read_text()


@pytest.mark.parametrize('moment', [1.5, 2.5, 3.5])
def test_interrupted_while_it_loads_the_node_ends_in_time(robot: Callable[..., Any], moment: float) -> None:
    node = robot('http://127.0.0.1:9/v1', 'filler.generator:=true', 'speech.enabled:=true', wait='')
    time.sleep(moment)  # somewhere between imports and readiness: each must do
    assert node.interrupt() < 2.0


def test_an_unknown_parameter_is_named(robot: Callable[..., Any]) -> None:
    node = robot('http://127.0.0.1:9/v1', 'l2.max_token:=5')
    assert "There is no parameter 'l2.max_token'; it is ignored." in node.log.read_text()


def test_a_missing_parameter_file_ends_the_node_with_a_sentence(tmp_path: FilePath) -> None:
    result = subprocess.run(
        [sys.executable, '-m', 'pace_ros.ros.dialogue', '--ros-args', '--params-file', str(tmp_path / 'none.yaml')],
        env=environment(), capture_output=True, text=True, timeout=30.0, check=False,
    )
    assert result.returncode == 1
    assert 'The node cannot be started' in result.stderr
    assert 'Traceback' not in result.stderr
