"""Messages without what was said."""
from __future__ import annotations

from typing import Any

import pytest
from bag_support import made, turn

from pace_ros.bags.definitions import installed_store
from pace_ros.bags.redaction import DIAGNOSTICS, without_text
from pace_ros.bags.session import SPEECH, TURN


def read(kind: str, data: bytes | None) -> Any:
    assert data is not None
    return installed_store(kind).deserialize_cdr(data, kind)


@pytest.mark.parametrize(('outcome', 'kept'), [
    ('failed: no voice for "a secret": or so', 'failed'), ('spoken', 'spoken'), ('stopped', 'stopped'), ('', '')])
def test_a_servers_words_on_failed_speech_may_repeat_what_was_said(outcome: str, kept: str) -> None:
    state = read(SPEECH, without_text(SPEECH, made(SPEECH, turn_id='t1', outcome=outcome, elapsed=0.5)))
    assert (state.turn_id, state.outcome, state.elapsed) == ('t1', kept, 0.5)


def test_diagnostics_keep_levels_names_and_numbers() -> None:
    types = installed_store(DIAGNOSTICS).types
    status, pair = types['diagnostic_msgs/msg/DiagnosticStatus'], types['diagnostic_msgs/msg/KeyValue']
    values = {'turns running': '3', 'TTFT age': '12 s', 'lambda': '0.250', 'gaze': 'True', 'arm': 'refused: secret'}
    data = made(DIAGNOSTICS, status=[status(
        level=2, name='/dialogue: speech', message='tts: secret: cannot be said', hardware_id='/dialogue',
        values=[pair(key=key, value=value) for key, value in values.items()])])
    [kept] = read(DIAGNOSTICS, without_text(DIAGNOSTICS, data)).status
    assert (kept.level, kept.name, kept.message) == (2, '/dialogue: speech', 'tts')
    assert {each.key: each.value for each in kept.values} == {**values, 'arm': ''}


def test_what_holds_no_words_stays_as_it_is_and_what_is_nothing_else_goes() -> None:
    assert without_text('std_msgs/msg/Bool', b'anything') == b'anything'
    assert without_text('pace_msgs/msg/L2Traffic', b'anything') is None


def test_bytes_that_are_no_such_message_are_not_passed_on() -> None:
    with pytest.raises(ValueError, match='not a pace_msgs/msg/Turn'):
        without_text(TURN, turn('u1', answer='a secret')[2][:40])
