"""The controllers as the running node shows them: state topic, diagnostics, `ask --state`, arms, fillers saved."""
from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

import pytest
from node_process import Robot, environment
from support import Script, answer

from pace_msgs import msg
from pace_ros.record import read_turns
from pace_ros.turn import FrameKind, Path

KNOWN = 'What is the range of the Lark?'
STATIC, ADAPTIVE = msg.ControllerState.GATE_STATIC, msg.ControllerState.GATE_ADAPTIVE
QUICK_GATE = ('gate.window:=0.2', 'gate.quiet_windows:=3')


def ask_state(*options: str) -> subprocess.CompletedProcess[str]:
    """`ask --state` in a process of its own."""
    return subprocess.run(
        [sys.executable, '-m', 'pace_ros.ros.ask', '--state', *options], env=environment(), capture_output=True,
        text=True, timeout=30.0, check=False,
    )


def test_the_state_shows_gate_triggers_load_and_filler(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    robot(cloud(answer('Hi.')).base_url, *QUICK_GATE)
    heard = listener()
    heard.until(lambda: heard.heard['controller_state'][-1:] and heard.heard['controller_state'][-1].gate == STATIC)
    state = heard.heard['controller_state'][-1]
    assert (state.mode, state.theta_cache, state.theta_direct) == ('gated', 0.95, 0.75)
    assert state.quiet_windows >= 3
    assert [each.name for each in state.triggers] == ['rate ratio', 'rate dispersion', 'load step']
    assert not any(each.fired for each in state.triggers)
    heard.say('What are the rings of Saturn made of?', locale='en-US')
    (turn,) = heard.turns(1)
    heard.until(lambda: heard.heard['controller_state'][-1].ttft_samples == 1)
    state = heard.heard['controller_state'][-1]
    assert state.ttft_ewma == pytest.approx(1.5 + 0.3 * (turn.ttft - 1.5), abs=1e-3)
    assert state.p_instant == pytest.approx(0.3 * 31 / 32)
    assert state.tokens_per_turn == 12.0
    assert state.filler_launch
    assert state.filler_budget == pytest.approx(min(1.2, 0.8 * state.ttft_ewma))


def test_ask_shows_the_state_as_a_table_and_as_json(cloud: Callable[..., Any], robot: Callable[..., Any]) -> None:
    robot(cloud().base_url)
    shown = ask_state()
    assert shown.returncode == 0, shown.stderr
    for word in ('load λ', 'TTFT average x', 'thresholds', 'ADAPTIVE', 'quiet windows', 'P(inst)', 'budget'):
        assert word in shown.stdout
    with subprocess.Popen(
        [sys.executable, '-m', 'pace_ros.ros.ask', '--state', '--json'], env=environment(), stdout=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        states = [json.loads(watching.stdout.readline()) for _ in range(3)]
        watching.terminate()
    assert all(state['mode'] == 'gated' and state['ttft_age'] is None for state in states)


def test_ask_says_so_where_there_is_no_node() -> None:
    absent = ask_state('--timeout', '1')
    assert absent.returncode == 3
    assert 'No dialogue node' in absent.stderr


def test_a_starved_signal_is_reported(robot: Callable[..., Any], listener: Callable[..., Any]) -> None:
    from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

    robot('http://127.0.0.1:9/v1', 'router.signal_age:=1.0')
    heard = listener()
    arrays: list[DiagnosticArray] = []
    heard.node.create_subscription(DiagnosticArray, '/diagnostics', arrays.append, 10)
    seen = heard.heard['controller_state']
    for number in range(40):
        heard.say(KNOWN, conversation_id=f'c{number}')
        heard.spin(0.1)
        if seen[-1].ttft_starved:
            break
    assert seen[-1].ttft_starved
    heard.say(KNOWN)
    arrays.clear()
    heard.until(lambda: bool(arrays))
    (status,) = [each for each in arrays[0].status if each.name.endswith('router')]
    assert status.level == DiagnosticStatus.WARN
    assert 'while visitors come' in status.message


def test_a_restarted_node_goes_on_with_the_average(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any], tmp_path: FilePath
) -> None:
    model = cloud(answer('Hi.'))
    first: Robot = robot(model.base_url)
    heard = listener()
    heard.say('What are the rings of Saturn made of?', locale='en-US')
    (turn,) = heard.turns(1)
    average = 1.5 + 0.3 * (turn.ttft - 1.5)
    assert first.interrupt() < 2.0
    assert json.loads((tmp_path / 'router.json').read_text())['ttft'] == pytest.approx(average, abs=1e-3)
    heard.heard['controller_state'].clear()
    robot(model.base_url)
    heard.until(lambda: bool(heard.heard['controller_state']))
    assert heard.heard['controller_state'][-1].ttft_samples == 0
    assert heard.heard['controller_state'][-1].ttft_ewma == pytest.approx(average, abs=1e-3)
    assert heard.heard['controller_state'][-1].ttft_age < 60.0


def test_a_partial_hypothesis_is_no_turn_but_its_answer_is_ready(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    model = cloud(Script([0.4, answer('It is cold', ' there.')]))
    robot(model.base_url, 'speculation.enabled:=true', 'speculation.stable_for:=0.05')
    heard = listener()
    heard.say('What are the rings of Saturn made of', utterance_id='u', locale='en-US', partial=True)
    heard.until(lambda: len(model.server.requests) == 1)
    heard.spin(0.8)
    assert not heard.heard['turn']
    heard.say('What are the rings of Saturn made of?', utterance_id='u', locale='en-US')
    (turn,) = heard.turns(1)
    assert (turn.speculation, turn.answer) == ('used', 'It is cold there.')
    assert turn.ttft >= 0.4 > turn.ptfr
    assert len(model.server.requests) == 1


def test_arms_switch_routers_and_fillers_turn_by_turn(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    robot(cloud().base_url, 'allow_overrides:=true')
    heard = listener()
    for number, (router, filler) in enumerate((('static', 'off'), ('adaptive', 'adaptive'), ('gated', 'fixed'))):
        heard.say(KNOWN, conversation_id=f'c{number}', arm=msg.Arm(router=router, filler=filler))
    turns = {turn.conversation_id: turn for turn in heard.turns(3)}
    assert [turns[f'c{number}'].gate for number in range(3)] == [STATIC, ADAPTIVE, ADAPTIVE]
    decisions = [turns[f'c{number}'].filler_decision.split(':')[0] for number in range(3)]
    assert decisions == ['off', 'adaptive', 'fixed']


def test_the_adaptive_policy_saves_the_filler_calls_of_the_fixed_one(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any], tmp_path: FilePath
) -> None:
    """The short form of the campaign `filler_calls`: real fillers, one stream for both, an instant share of 0.95."""
    model = cloud(Script([1.2, answer('Once', ' upon a time.')]))
    robot(model.base_url, 'allow_overrides:=true', 'speech.enabled:=false', 'l0.enabled:=false',
          quick=False)
    heard = listener()
    names: dict[str, list[str]] = {'fixed': [], 'adaptive': []}
    for number in range(100):
        for mode, asked in names.items():
            question = f'Please tell me story number {number}' if number % 20 == 19 else KNOWN
            asked.append(f'{mode}-{number}')
            heard.say(question, conversation_id=asked[-1], utterance_id=asked[-1],
                      arm=msg.Arm(filler=mode, router='static'))
            heard.turns(sum(map(len, names.values())))
    turns = {turn.utterance_id: turn for turn in heard.heard['turn']}
    launched = {mode: sum(turns[name].filler_launched for name in asked[40:]) for mode, asked in names.items()}
    instant = [turns[name].path in (Path.L0, Path.L1) for asked in names.values() for name in asked[40:]]
    assert sum(instant) / len(instant) >= 0.9
    assert launched['fixed'] == 60
    assert launched['adaptive'] < 4
    shown = [turn for turn in turns.values() if turn.filler_shown]
    assert len(shown) >= 5
    assert [turn.filler_conflict for turn in shown] == [''] * len(shown)
    for turn in shown:
        frames = sorted((frame for topic in ('filler', 'answer') for frame in heard.heard[topic]
                         if frame.turn_id == turn.turn_id), key=lambda frame: frame.seq)
        assert frames[0].kind == FrameKind.FILLER
        assert all(frame.kind == FrameKind.ANSWER for frame in frames[1:])
    assert len(list(read_turns(tmp_path / 'turns.jsonl'))) == 200
