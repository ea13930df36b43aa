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
from resident import Resident
from support import Script, answer

from pace_msgs import msg
from pace_ros.record import read_turns
from pace_ros.turn import FrameKind, Path

KNOWN = 'What is the range of the Lark?'
STATIC, ADAPTIVE = msg.ControllerState.GATE_STATIC, msg.ControllerState.GATE_ADAPTIVE
QUICK_GATE = ('gate.window:=0.2', 'gate.quiet_windows:=1000')


def ask_state(*options: str) -> subprocess.Popen[str]:
    """`ask --state` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, '-m', 'pace_ros.ros.ask', '--state', *options], env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )


def test_ask_and_topic_show_gate_triggers_load_and_filler(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any]
) -> None:
    model = cloud(answer('Hi.'))
    fresh = Resident(robot(model.base_url, *QUICK_GATE), model, listener())
    heard = fresh.heard
    with ask_state() as table, ask_state('--json') as watching:
        shown, errors = table.communicate(timeout=30.0)
        assert watching.stdout is not None
        states = [json.loads(watching.stdout.readline()) for _ in range(3)]
        watching.terminate()
    assert table.returncode == 0, errors
    for word in ('load λ', 'TTFT average x', 'thresholds', 'ADAPTIVE', 'quiet windows', 'P(inst)', 'budget'):
        assert word in shown
    assert all(state['mode'] == 'gated' and state['ttft_age'] is None for state in states)
    fresh.put({'gate.quiet_windows': 3})
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


def test_ask_says_so_where_there_is_no_node() -> None:
    with ask_state('--timeout', '1', '--namespace', 'nobody') as absent:
        _, errors = absent.communicate(timeout=30.0)
    assert absent.returncode == 3
    assert 'No dialogue node' in errors


def test_a_restarted_node_goes_on_with_average_and_cache(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any], tmp_path: FilePath
) -> None:
    model = cloud(answer('Hi.'))
    first: Robot = robot(model.base_url, f'l0.file:={tmp_path / "l0.sqlite"}')
    heard = listener()
    heard.say('What are the rings of Saturn made of?', locale='en-US')
    (turn,) = heard.turns(1)
    average = 1.5 + 0.3 * (turn.ttft - 1.5)
    assert first.interrupt() < 2.0
    assert json.loads((tmp_path / 'router.json').read_text())['ttft'] == pytest.approx(average, abs=1e-3)
    again: Robot = robot(model.base_url, f'l0.file:={tmp_path / "l0.sqlite"}')
    assert '1 cached answers' in again.log.read_text()
    heard = listener()
    heard.until(lambda: bool(heard.heard['controller_state']))
    assert heard.heard['controller_state'][-1].ttft_samples == 0
    assert heard.heard['controller_state'][-1].ttft_ewma == pytest.approx(average, abs=1e-3)
    assert heard.heard['controller_state'][-1].ttft_age < 60.0


def test_the_adaptive_policy_saves_the_filler_calls_of_the_fixed_one(
    cloud: Callable[..., Any], robot: Callable[..., Any], listener: Callable[..., Any], tmp_path: FilePath
) -> None:
    """The short form of the campaign `filler_calls`: real fillers, one stream for both, an instant share of 0.95."""
    model = cloud(Script([0.8, answer('Once', ' upon a time.')]))
    robot(model.base_url, 'allow_overrides:=true', 'l0.enabled:=false', 'filler.generator:=true', 'filler.budget:=0.6',
          'filler.budget_high:=0.6')
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
