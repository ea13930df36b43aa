"""The terminal client against the real node, as its own process."""
from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from node_process import Listener, environment
from rclpy.action import ActionClient
from rclpy.action.server import GoalStatus
from resident import Resident
from support import STALL, Script, answer, chunk, sse

from pace_msgs import msg
from pace_msgs.action import Ask
from pace_ros.ros import ask
from pace_ros.turn import Outcome, Path

KNOWN = 'What is the range of the Lark?'


def run_ask(*arguments: str, text: str | None = None, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, '-m', 'pace_ros.ros.ask', *arguments], env=environment(), input=text, text=True,
        capture_output=True, timeout=timeout, check=False,
    )


def begins_and_waits(resident: Resident) -> Listener:
    """The cloud begins an answer and never goes on."""
    resident.plays(Script([sse(chunk('Once upon')), STALL]))
    resident.put({'l2.inter_token_timeout': 30.0})
    return resident.heard


@pytest.mark.usefixtures('resident')
def test_one_question_prints_one_turn() -> None:
    result = run_ask(KNOWN)
    assert result.returncode == 0, result.stderr
    assert 'The range of the Lark is 410 kilometers' in result.stdout
    assert 'ANSWERED by L1: PTFR 0.' in result.stdout


def test_json_holds_the_turn_and_all_its_frames(resident: Resident) -> None:
    pieces = [f'word{number} ' for number in range(40)]
    resident.plays(answer(*pieces))
    first = json.loads(run_ask('--json', '--conversation', 'a', 'Tell me forty words').stdout)
    assert first['turn']['path'] == 'L2'
    assert first['turn']['t_retrieve'] is not None
    assert first['turn']['cache_score'] is None, 'nothing to compare with is null'
    assert 0.0 <= first['turn']['load_index'] <= 1.0
    again = json.loads(run_ask('--json', '--conversation', 'b', 'Tell me forty words').stdout)
    assert again['turn']['path'] == 'L0'
    for each in (first, again):
        frames = [frame for frame in each['frames'] if frame['kind'] == 'ANSWER']
        assert ''.join(frame['text'] for frame in frames).strip() == ''.join(pieces).strip()
        assert [frame['seq'] for frame in each['frames']] == list(range(len(each['frames'])))
        assert [frame['last'] for frame in frames].count(True) == 1


@pytest.mark.usefixtures('resident')
def test_a_conversation_switches_and_ends() -> None:
    lines = f'/c guest\n{KNOWN}\n/end\n/end\n/stop\n/nonsense\n/quit\n'
    result = run_ask(text=lines)
    assert result.returncode == 0, result.stderr
    for expected in ('ANSWERED by L1', 'guest>', 'forgotten', 'it was not known', '0 turns stopped', '/c NAME'):
        assert expected in result.stdout


def test_a_failed_turn_gives_exit_code_one(resident: Resident) -> None:
    resident.plays(Script(status=500))
    resident.put({'l2.retries': 0, 'fallback.floor': 0.99})
    result = run_ask('What are the rings of Saturn made of?')
    assert result.returncode == 1
    assert 'FAILED by FALLBACK' in result.stdout


def test_ctrl_c_cancels_the_question_and_not_more(resident: Resident) -> None:
    heard = begins_and_waits(resident)
    process = subprocess.Popen(
        [sys.executable, '-m', 'pace_ros.ros.ask'], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )
    assert process.stdin is not None
    process.stdin.write('Tell me a long story\n')
    process.stdin.flush()
    heard.until(lambda: bool(heard.heard['answer']))
    process.send_signal(signal.SIGINT)
    assert heard.turns(1)[0].outcome == Outcome.CANCELLED
    output, errors = process.communicate(f'{KNOWN}\n/quit\n', timeout=30.0)
    assert 'CANCELLED by L2' in output
    assert 'ANSWERED by L1' in output
    assert (process.returncode, errors) == (0, '')


def test_without_a_node_it_says_what_to_start() -> None:
    result = run_ask('--timeout', '1', '--namespace', 'nobody', KNOWN)
    assert result.returncode == 3
    assert 'No dialogue node serves the action /nobody/ask' in result.stderr
    assert 'Traceback' not in result.stderr


def test_an_inactive_node_refuses_the_question(resident: Resident) -> None:
    def change(transition: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=transition))
        return resident.heard.call(ChangeState, 'dialogue/change_state', request).success

    assert change(Transition.TRANSITION_DEACTIVATE)
    try:
        result = run_ask(KNOWN)
    finally:
        assert change(Transition.TRANSITION_ACTIVATE)
    assert result.returncode == 3
    assert 'not active' in result.stderr


class Goal:
    """One goal on the action, step by step."""

    def __init__(self, heard: Any, text: str, **fields: Any) -> None:
        self.heard = heard
        self.frames: list[msg.ResponseFrame] = []
        self.client = ActionClient(heard.node, Ask, 'ask')
        assert self.client.wait_for_server(timeout_sec=10.0)
        heard.ready()  # and the server knows of the client by now
        sent = self.client.send_goal_async(
            Ask.Goal(utterance=msg.Utterance(text=text, **fields)),
            feedback_callback=lambda feedback: self.frames.append(feedback.feedback.frame),
        )
        heard.until(sent.done)
        self.handle = sent.result()

    def result(self) -> Any:
        future = self.handle.get_result_async()
        self.heard.until(future.done)
        self.client.destroy()
        return future.result()


def test_the_goal_id_is_the_turn_id_and_feedback_comes_per_frame(resident: Resident) -> None:
    resident.plays(answer('One', ' two', ' three.'))
    resident.put({'filler.mode': 'off'})
    heard = resident.heard
    goal = Goal(heard, 'Count for me please')
    heard.until(lambda: len(goal.frames) == 4 and len(heard.heard['answer']) == 4)  # a result would end the feedback
    result = goal.result()
    assert result.status == GoalStatus.STATUS_SUCCEEDED
    assert result.result.turn.turn_id == bytes(goal.handle.goal_id.uuid).hex()
    assert result.result.answer == 'One two three.'
    assert [frame.text for frame in goal.frames] == ['One', ' two', ' three.', '']
    assert {frame.turn_id for frame in heard.heard['answer']} == {result.result.turn.turn_id}


def test_a_cancelled_goal_ends_cancelled_with_its_turn(resident: Resident) -> None:
    heard = begins_and_waits(resident)
    goal = Goal(heard, 'Tell me a long story')
    heard.until(lambda: bool(heard.heard['answer']))
    cancelled = goal.handle.cancel_goal_async()
    heard.until(cancelled.done)
    result = goal.result()
    assert result.status == GoalStatus.STATUS_CANCELED
    assert (result.result.turn.outcome, result.result.turn.path) == (Outcome.CANCELLED, Path.L2)
    heard.spin(0.3)
    assert len(heard.heard['turn']) == 1
    assert len(heard.heard['answer']) == 1


def test_a_pre_empted_goal_is_aborted_with_its_turn(resident: Resident) -> None:
    heard = begins_and_waits(resident)
    goal = Goal(heard, 'Tell me a long story')
    heard.until(lambda: bool(heard.heard['answer']))
    heard.say(KNOWN)
    result = goal.result()
    assert result.status == GoalStatus.STATUS_ABORTED
    assert result.result.turn.outcome == Outcome.PREEMPTED
    assert heard.turns(2)[1].outcome == Outcome.ANSWERED


def test_a_rejected_question_is_aborted_with_the_reason(resident: Resident) -> None:
    result = Goal(resident.heard, ' ').result()
    assert result.status == GoalStatus.STATUS_ABORTED
    assert (result.result.turn.outcome, result.result.turn.reason) == (Outcome.REJECTED, 'the text is blank')


def test_an_unfinished_hypothesis_is_no_goal(resident: Resident) -> None:
    assert not Goal(resident.heard, 'What is the ran', partial=True).handle.accepted


def test_plain_turns_nan_and_enums_into_json() -> None:
    turn = msg.Turn(path=3, outcome=5, ptfr=float('nan'), completion=1.5)
    fields = ask.plain(turn)
    assert (fields['path'], fields['outcome'], fields['ptfr'], fields['completion']) == ('L2', 'REJECTED', None, 1.5)
    assert json.loads(json.dumps(fields)) == fields
