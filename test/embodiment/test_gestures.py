from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros import packaged
from pace_ros.config_body import GestureSettings
from pace_ros.embodiment.gestures import GestureBook, GestureError, GestureMotion


def test_the_packaged_book_knows_every_gesture_of_the_dialogue() -> None:
    book = GestureBook.read(packaged.config_dir() / 'gestures.yaml')
    settings = GestureSettings()
    assert {settings.nod, *settings.thinking, *settings.beats, 'rest'} <= set(book.names())
    assert book.of('nod') == GestureMotion('nod', 'nod', ('head_pitch',), 0.6)
    assert book.of('think') == GestureMotion('think', 'thinking', (), 4.0)


def test_an_unknown_gesture_is_refused_with_those_there_are() -> None:
    book = GestureBook({'nod': GestureMotion('nod', 'nod', (), 1.0)})
    with pytest.raises(GestureError, match=r"There is no gesture 'wave'; known are nod\."):
        book.of('wave')


@pytest.mark.parametrize(('text', 'sentence'), [
    ('', 'must map the names of gestures'),
    ('[nod]', 'must map the names of gestures'),
    ('nod: [', 'cannot be read'),
    ('nod: nod', "gesture 'nod': must be a mapping"),
    ('nod: {duration: 1}', "gesture 'nod', field 'motion': must be the robot's name"),
    ('nod: {motion: nod}', "gesture 'nod', field 'duration': must be a positive number of seconds, not None"),
    ('nod: {motion: nod, duration: 0}', 'must be a positive number of seconds, not 0'),
    ('nod: {motion: nod, duration: .nan}', 'must be a positive number of seconds, not nan'),
    ('nod: {motion: nod, duration: yes}', 'must be a positive number of seconds, not True'),
    ('nod: {motion: nod, duration: 1, joints: head}', "field 'joints': must be a list of names"),
    ('nod: {motion: nod, duration: 1, joint: [a]}', "there is no field 'joint'"),
    ('on: {motion: nod, duration: 1}', 'True is no name of a gesture; quote it'),
])
def test_a_bad_book_is_refused_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / 'gestures.yaml'
    path.write_text(text, encoding='utf-8')
    with pytest.raises(GestureError, match=sentence) as refused:
        GestureBook.read(path)
    assert str(path) in str(refused.value)


def test_a_book_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GestureError, match=r'absent\.yaml cannot be read'):
        GestureBook.read(tmp_path / 'absent.yaml')
