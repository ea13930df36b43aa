"""The dialogue node on a robot that has ROS4HRI's interfaces: it hears, speaks, looks and moves through them."""
from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import pytest

hri = pytest.importorskip('hri_msgs.msg', reason='hri_msgs is neither installed nor built')
tts = pytest.importorskip('tts_msgs.action', reason='tts_msgs is neither installed nor built')
skills = pytest.importorskip('interaction_skills.action', reason='interaction_skills is neither installed nor built')
motions = pytest.importorskip('play_motion2_msgs.action', reason='play_motion2_msgs is neither installed nor built')

from std_msgs.msg import Bool  # noqa: E402

from pace_msgs import msg  # noqa: E402
from pace_ros.record import read_turns  # noqa: E402
from pace_ros.turn import Content, Modality, Outcome  # noqa: E402

pytestmark = pytest.mark.filterwarnings('ignore:coroutine .*_execute_goal.* was never awaited:RuntimeWarning')
QUESTION = 'What is the range of the Lark?'
SILENT_BEFORE = 0.3  # s between the end of speech and the recogniser's result


def test_a_visitor_is_heard_and_answered_through_the_robot_s_own_interfaces(
    robot: Callable[..., Any], listener: Callable[..., Any], server: Callable[..., Any], script: Any
) -> None:
    voice = server(tts.TTS, 'tts_engine/tts', script(feedback=((0.2, {'word': 'the'}),), lasts=0.6))
    eyes = server(skills.LookAt, 'skill/look_at', script(lasts=0.2))
    arms = server(motions.PlayMotion2, 'play_motion2', script(lasts=0.2, result={'success': True}))
    node = robot('http://127.0.0.1:9/v1', 'speech.enabled:=true', 'adapters.voices:=/humans/voices')
    heard = listener()
    ids = heard.node.create_publisher(hri.IdsList, '/humans/voices/tracked', 1)
    speech = heard.node.create_publisher(hri.LiveSpeech, '/humans/voices/v1/speech', 10)
    speaks = heard.node.create_publisher(Bool, '/humans/voices/v1/is_speaking', 10)
    heard.until(lambda: ids.publish(hri.IdsList(ids=['v1'])) or (
        speech.get_subscription_count() > 0 and speaks.get_subscription_count() > 0))
    heard.spin(0.5)
    speaks.publish(Bool(data=True))
    heard.spin(0.2)
    speaks.publish(Bool(data=False))
    time.sleep(SILENT_BEFORE)
    speech.publish(hri.LiveSpeech(final=QUESTION, locale='en_US', confidence=0.9))
    (turn,) = heard.turns(1)
    assert (turn.outcome, turn.conversation_id) == (Outcome.ANSWERED, 'v1')
    heard.until(lambda: any(is_speech(onset) for onset in heard.heard['onset']))
    heard.until(lambda: bool(eyes.goals and arms.goals) and 4 in voice.ends)
    assert voice.goals[0].input in turn.answer
    assert voice.goals[0].locale == 'en_US'
    assert eyes.goals[0].target.header.frame_id == 'visitor'
    assert arms.goals[0].motion_name == 'nod'
    onset = next(onset for onset in heard.heard['onset'] if is_speech(onset))
    assert onset.elapsed - turn.ptfr >= 0.2, 'the sound begins with the first word, not with the goal'
    assert math.isclose(onset.audible, onset.elapsed, abs_tol=1e-6)
    log = node.folder / 'turns.jsonl'
    heard.until(lambda: log.exists() and bool(log.read_text()))
    (record,) = read_turns(log)
    assert SILENT_BEFORE <= record.since_speech_end < SILENT_BEFORE + 1.0
    assert record.speech_outcome == 'spoken'


def is_speech(onset: msg.Onset) -> bool:
    return onset.modality == Modality.SPEECH and onset.content == Content.ANSWER
