"""Which gestures the robot knows."""
from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros.config import Config
from pace_ros.embodiment.gestures import GestureError
from pace_ros.ros.limbs import read_gestures
from pace_ros.settings import ConfigError, with_values


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
