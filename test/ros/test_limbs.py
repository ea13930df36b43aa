"""Which gestures the robot knows, and who speaks for it."""
from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from rclpy.lifecycle import LifecycleNode

from pace_ros.config import Config
from pace_ros.embodiment import Cue, Sentence, SpeechError
from pace_ros.embodiment.gestures import GestureError
from pace_ros.ros.adapters import ActionSpeaker
from pace_ros.ros.limbs import Limbs, read_gestures
from pace_ros.ros.publishers import Publishers
from pace_ros.settings import ConfigError, with_values
from pace_ros.turn import Content


def test_every_gesture_of_the_defaults_is_in_the_packaged_file() -> None:
    book = read_gestures(Config())
    gesture = Config().gesture
    assert {gesture.nod, *gesture.thinking, *gesture.beats, 'rest'} <= set(book.names())


@pytest.mark.parametrize(('parameter', 'value', 'words'), [
    ('gesture.nod', 'bow', "'gesture.nod': .* has no gesture 'bow'; it has nod, think"),
    ('gesture.thinking', ['think', 'muse'], "'gesture.thinking': .* has no gesture 'muse'"),
    ('gesture.beats', ['beat'], "'gesture.beats': .* has no gesture 'beat'"),
])
def test_a_gesture_the_robot_does_not_have_is_refused(parameter: str, value: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_gestures(with_values(Config(), {parameter: value}))


def test_a_file_of_one_s_own_replaces_the_packaged_one(tmp_path: Path) -> None:
    own = tmp_path / 'own.yaml'
    own.write_text('bow: {motion: greet_bow, duration: 1.0}\n', encoding='utf-8')
    values = {'gesture.names_file': str(own), 'gesture.nod': 'bow', 'gesture.thinking': [], 'gesture.beats': []}
    assert read_gestures(with_values(Config(), values)).of('bow').motion == 'greet_bow'
    with pytest.raises(GestureError, match='none'):
        read_gestures(with_values(Config(), {'gesture.names_file': str(tmp_path / 'none.yaml')}))


@pytest.mark.parametrize(('sink', 'next_speaker'), [('topic', 'topic'), ('null', 'action /tts_engine/tts')])
def test_a_voice_that_nobody_hears_stands_in_for_no_robot_s_own(
    monkeypatch: pytest.MonkeyPatch, sink: str, next_speaker: str
) -> None:
    async def refuse(*_: object) -> None:
        raise SpeechError('refused')

    monkeypatch.setattr(ActionSpeaker, 'available', lambda _self: True)
    monkeypatch.setattr(ActionSpeaker, 'say', refuse)
    config = with_values(Config(), {'speech.sink': sink})
    node = LifecycleNode('limbs')
    outlet = Publishers(node, lambda: config)
    limbs = Limbs(node, lambda: config, outlet, on_utterance=lambda _: None, on_speaking=lambda _: None)
    monkeypatch.setattr(limbs._tts, 'name', 'action /tts_engine/tts')
    with pytest.raises(SpeechError):
        asyncio.run(limbs.speaker.say(Sentence('One.', 'en-US'), Cue('t1', Content.ANSWER), lambda _delay: None))
    assert limbs.speaker.name == next_speaker
    limbs.destroy()
    outlet.destroy()
    node.destroy_node()
