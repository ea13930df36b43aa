"""The node as another process meets it, over DDS: one that all these tests talk to."""
from __future__ import annotations

import json
from pathlib import Path as FilePath
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from frames import check_frames, frames_by_turn
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, SetParameters
from resident import Resident
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from support import STALL, Script, answer, chunk, sse

from pace_msgs import msg
from pace_ros.clock import seconds
from pace_ros.ros.qos import SENSOR
from pace_ros.turn import Outcome, Path

STATIC, ADAPTIVE = msg.ControllerState.GATE_STATIC, msg.ControllerState.GATE_ADAPTIVE
KNOWN_ZH, KNOWN_EN = '云雀的续航是多少？', 'What is the range of the Lark?'


@pytest.fixture(scope='module')
def resident_parameters(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    foreign = tmp_path_factory.mktemp('foreign') / 'l0.sqlite'
    foreign.write_bytes(b'not a cache')
    return [f'l0.file:={foreign}', 'l2.max_token:=5', 'speech.sink:=topic']


def recorded(log: FilePath, turn_ids: set[str]) -> list[str]:
    """The lines of these turns in the log of turns, as far as they have been written."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [line for line in lines if any(turn_id in line for turn_id in turn_ids)]


def test_two_hundred_utterances_in_a_row(resident: Resident) -> None:
    resident.plays(answer('Sure', ', any', ' time.'))
    heard, log = resident.heard, resident.node.folder / 'turns.jsonl'
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
    heard.until(lambda: len(recorded(log, {turn.turn_id for turn in turns})) == 200)


def test_twenty_conversations_interleaved(resident: Resident) -> None:
    slow = Script([sse(chunk('One')), 0.3, sse(chunk(' two.', finish='stop'), '[DONE]')])
    resident.plays(slow)
    resident.put({'filler.mode': 'fixed', 'filler.budget': 0.05})
    heard = resident.heard
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


@pytest.mark.parametrize(('text', 'reason'), [
    ('', 'empty'), ('  \n\t ', 'blank'), ('x' * 501, 'max_utterance_chars'),
])
def test_what_is_no_question_is_refused_with_a_reason(resident: Resident, text: str, reason: str) -> None:
    heard = resident.heard
    heard.say(text, utterance_id='bad')
    (turn,) = heard.turns(1)
    assert (turn.outcome, turn.utterance_id) == (Outcome.REJECTED, 'bad')
    assert reason in turn.reason
    assert not heard.heard['answer']


def test_partial_hypotheses_are_ignored(resident: Resident) -> None:
    heard = resident.heard
    heard.say('What is the ran', partial=True, utterance_id='u')
    heard.say(KNOWN_EN, utterance_id='u')
    heard.turns(1)
    heard.spin(0.3)
    assert len(heard.heard['turn']) == 1


def test_the_next_utterance_of_a_conversation_silences_the_last(resident: Resident) -> None:
    resident.plays(Script([sse(chunk('Once upon')), STALL]))
    resident.put({'l2.inter_token_timeout': 30.0})
    heard = resident.heard
    heard.say('Tell me a long story', utterance_id='first')
    heard.until(lambda: bool(heard.heard['answer']))
    heard.say(KNOWN_EN, utterance_id='second')
    first, second = heard.turns(2)
    heard.spin(0.3)
    assert (first.utterance_id, first.outcome) == ('first', Outcome.PREEMPTED)
    assert (second.utterance_id, second.outcome, second.path) == ('second', Outcome.ANSWERED, Path.L1)
    mine = [(name, message) for name, message in heard.order if name not in {'controller_state', 'gaze_target', 'turn'}
            and message.turn_id == first.turn_id]
    assert {'answer', 'onset'} <= {name for name, _ in mine}
    late = [each for each in mine if seconds(each[1].header.stamp) > seconds(first.header.stamp)]
    assert not late, 'by stamp: topics may overtake each other'


def test_stop_cancels_every_running_turn(resident: Resident) -> None:
    resident.plays(Script([sse(chunk('Once upon')), STALL]))
    resident.put({'l2.inter_token_timeout': 30.0})
    heard = resident.heard
    for name in 'ab':
        heard.say('Tell me a long story', conversation_id=name)
    heard.until(lambda: len(heard.heard['answer']) == 2)
    response = heard.call(Trigger, 'dialogue/stop')
    assert (response.success, response.message) == (True, '2 turns stopped')
    assert {turn.outcome for turn in heard.turns(2)} == {Outcome.CANCELLED}


def test_voice_activity_stops_the_robot_where_it_may(resident: Resident) -> None:
    resident.plays(Script([sse(chunk('Once upon a time there was a car. ')), STALL]))
    resident.put({'speech.enabled': True, 'barge_in.on_voice': True, 'l2.inter_token_timeout': 30.0})
    heard = resident.heard
    voice = heard.node.create_publisher(Bool, 'user_speaking', SENSOR)
    heard.until(lambda: voice.get_subscription_count() > 0)
    heard.say('Tell me a long story', locale='en-US')
    heard.until(lambda: any(onset.modality == onset.MODALITY_SPEECH for onset in heard.heard['onset']))
    heard.until(lambda: voice.publish(Bool(data=True)) or bool(heard.heard['turn']), 5.0)
    assert heard.heard['turn'][0].outcome == Outcome.PREEMPTED
    assert 'began to speak' in heard.heard['turn'][0].reason


def test_speech_on_a_topic_comes_as_samples(resident: Resident) -> None:
    resident.put({'speech.enabled': True})
    heard = resident.heard
    heard.say(KNOWN_EN)
    heard.turns(1)
    heard.until(lambda: sum(len(chunk.samples) for chunk in heard.heard['speech_audio']) > 22050)
    assert {chunk.sample_rate for chunk in heard.heard['speech_audio']} == {22050}
    assert heard.heard['speech_audio'][0].turn_id == heard.heard['turn'][0].turn_id


def test_parameters_have_descriptors_and_refuse_bad_values(resident: Resident) -> None:
    heard = resident.heard
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
    resident.put({'router.mode': 'static', 'router.theta_direct': 1.0})
    heard.until(lambda: heard.heard['controller_state'][-1].theta_direct == 1.0)


def test_arm_switches_count_only_where_they_may(resident: Resident) -> None:
    resident.plays(answer('From the cloud.'))
    heard = resident.heard
    arm = msg.Arm(label='pure', l0='off', l1='off')
    for number in range(2):
        heard.say(KNOWN_EN, arm=arm)
        assert heard.turns(number + 1)[-1].path == Path.L1
    assert resident.node.log.read_text().count('Utterance.arm is ignored') == 1
    resident.put({'allow_overrides': True})
    heard.say(KNOWN_EN, arm=arm)
    turn = heard.turns(3)[2]
    assert (turn.path, turn.arm) == (Path.L2, 'pure')
    heard.say(KNOWN_EN, arm=msg.Arm(l0='maybe'))
    assert 'l0' in heard.turns(4)[3].reason


def test_records_without_text_hold_no_word_said(resident: Resident) -> None:
    resident.put({'record.text': False})
    resident.heard.say(KNOWN_EN)
    (turn,) = resident.heard.turns(1)
    log = resident.node.folder / 'turns.jsonl'
    resident.heard.until(lambda: bool(recorded(log, {turn.turn_id})))
    (line,) = recorded(log, {turn.turn_id})
    assert 'Lark' not in line
    assert json.loads(line)['path'] == 'L1'


def test_a_foreign_cache_is_refused_and_the_node_starts_empty(resident: Resident) -> None:
    assert 'the cache starts empty' in resident.node.log.read_text()


def test_an_unknown_parameter_is_named(resident: Resident) -> None:
    assert "There is no parameter 'l2.max_token'; it is ignored." in resident.node.log.read_text()


def test_a_starved_signal_is_reported(resident: Resident) -> None:
    resident.put({'router.signal_age': 1.0})
    heard = resident.heard
    arrays: list[DiagnosticArray] = []
    heard.node.create_subscription(DiagnosticArray, '/diagnostics', arrays.append, 10)
    seen = heard.heard['controller_state']
    for number in range(40):
        heard.say(KNOWN_EN, conversation_id=f'c{number}')
        heard.spin(0.1)
        if seen[-1].ttft_starved:
            break
    assert seen[-1].ttft_starved
    heard.say(KNOWN_EN)
    arrays.clear()
    heard.until(lambda: bool(arrays))
    (status,) = [each for each in arrays[0].status if each.name.endswith('router')]
    assert status.level == DiagnosticStatus.WARN
    assert 'while visitors come' in status.message


def test_a_partial_hypothesis_is_no_turn_but_its_answer_is_ready(resident: Resident) -> None:
    resident.plays(Script([0.4, answer('It is cold', ' there.')]))
    resident.put({'speculation.enabled': True, 'speculation.stable_for': 0.05, 'speculation.max_p_instant': 1.0})
    heard = resident.heard
    heard.say('What are the rings of Saturn made of', utterance_id='u', locale='en-US', partial=True)
    heard.until(lambda: len(resident.requests) == 1)
    heard.spin(0.8)
    assert not heard.heard['turn']
    heard.say('What are the rings of Saturn made of?', utterance_id='u', locale='en-US')
    (turn,) = heard.turns(1)
    assert (turn.speculation, turn.answer) == ('used', 'It is cold there.')
    assert turn.ttft >= 0.4 > turn.ptfr
    assert len(resident.requests) == 1


def test_arms_switch_routers_and_fillers_turn_by_turn(resident: Resident) -> None:
    resident.put({'allow_overrides': True})
    heard = resident.heard
    for number, (router, filler) in enumerate((('static', 'off'), ('adaptive', 'adaptive'), ('gated', 'fixed'))):
        heard.say(KNOWN_EN, conversation_id=f'c{number}', arm=msg.Arm(router=router, filler=filler))
    turns = {turn.conversation_id: turn for turn in heard.turns(3)}
    assert [turns[f'c{number}'].gate for number in range(3)] == [STATIC, ADAPTIVE, ADAPTIVE]
    decisions = [turns[f'c{number}'].filler_decision.split(':')[0] for number in range(3)]
    assert decisions == ['off', 'adaptive', 'fixed']
