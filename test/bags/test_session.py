"""What belongs to a session."""
from __future__ import annotations

from pace_ros.bags.session import Choice, resolved


def test_names() -> None:
    assert resolved('turn', '') == '/turn'
    assert resolved('turn', '/robot1/') == '/robot1/turn'
    assert resolved('/rosout', 'robot1') == '/rosout'


def test_a_session_is_one_robots() -> None:
    choice = Choice('robot1')
    assert choice.has('/robot1/turn')
    assert choice.has('/diagnostics')
    assert not choice.has('/turn')
    assert not choice.has('/robot1/speech_audio')
    assert choice.is_input('/robot1/utterance')
    assert not choice.is_input('/robot1/turn')
    assert choice.tells('/robot1/turn')
    assert not choice.tells('/rosout')


def test_more_less_and_everything() -> None:
    assert Choice(also=('speech_audio',)).has('/speech_audio')
    assert Choice(also=('speech_audio',)).has('/turn')
    only = Choice(topics=('turn', '/camera/image'))
    assert only.has('/camera/image')
    assert only.is_input('/turn')
    assert not only.has('/answer')
    assert Choice(everything=True).has('/anything')
    assert not Choice(everything=True).has('/ask/_action/feedback')
