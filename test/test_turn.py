from __future__ import annotations

import math
import re
from enum import IntEnum
from pathlib import Path as FilePath

import pytest

from pace_ros.turn import Arm, Content, FrameKind, Modality, Outcome, Path, Source, TurnRecord, Utterance

MESSAGES = FilePath(__file__).parents[1] / 'pace_msgs' / 'msg'


@pytest.mark.parametrize(
    ('message', 'prefix', 'kind'),
    [
        ('ResponseFrame', 'PATH', Path),
        ('ResponseFrame', 'KIND', FrameKind),
        ('Turn', 'OUTCOME', Outcome),
        ('Onset', 'MODALITY', Modality),
        ('Onset', 'CONTENT', Content),
        ('Onset', 'SOURCE', Source),
    ],
)
def test_the_values_are_those_of_the_messages(message: str, prefix: str, kind: type[IntEnum]) -> None:
    text = (MESSAGES / f'{message}.msg').read_text(encoding='utf-8')
    constants = dict(re.findall(rf'^\w+ {prefix}_(\w+)\s*=\s*(\d+)', text, re.MULTILINE))
    assert {name: int(value) for name, value in constants.items()} == {each.name: each.value for each in kind}


def record(**fields: object) -> TurnRecord:
    return TurnRecord('t', 'c', **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ('shown', 'filler', 'ptfr', 'latency'),
    [
        (False, math.nan, 1.2, 1.2),
        (False, 0.3, 1.2, 1.2),  # launched and never shown: the visitor has perceived nothing
        (True, 0.3, 1.2, 0.3),
        (True, 1.5, 1.2, 1.2),
        (True, 0.3, math.nan, 0.3),
        (False, math.nan, math.nan, math.nan),
    ],
)
def test_perceived_latency_is_the_first_thing_perceived(
    filler: float, ptfr: float, latency: float, *, shown: bool
) -> None:
    got = record(filler_shown=shown, filler_elapsed=filler, ptfr=ptfr).perceived_latency
    assert got == pytest.approx(latency, nan_ok=True)


@pytest.mark.parametrize(('filler', 'preamble', 'ptfr', 'latency'), [
    (math.nan, 0.4, 1.2, 0.4),
    (math.nan, 0.4, math.nan, 0.4),
    (0.3, 0.4, 1.2, 0.3),
    (0.5, 0.4, 1.2, 0.4),
])
def test_a_preamble_is_perceived_as_a_filler_is(filler: float, preamble: float, ptfr: float, latency: float) -> None:
    shown = not math.isnan(filler)
    got = record(filler_shown=shown, filler_elapsed=filler, ttfet_preamble=preamble, ptfr=ptfr)
    assert got.perceived_latency == latency


def test_what_did_not_happen_is_not_a_time() -> None:
    fresh = record()
    times = [value for name, value in vars(fresh).items() if isinstance(value, float) and name != 'asr_confidence']
    assert len(times) > 15
    assert all(math.isnan(value) for value in times)
    assert (fresh.path, fresh.outcome, fresh.frames, fresh.onsets) == (Path.UNKNOWN, Outcome.UNKNOWN, 0, [])


def test_records_share_no_onsets() -> None:
    first, second = record(), record()
    first.onsets.append(None)  # type: ignore[arg-type]
    assert second.onsets == []


@pytest.mark.parametrize('name', ['router', 'filler', 'volatility', 'l0', 'l1', 'rag', 'persona'])
def test_an_arm_with_any_switch_set_is_not_empty(name: str) -> None:
    assert not Arm(**{name: 'off'}).is_empty()


def test_a_label_alone_changes_nothing() -> None:
    assert Arm().is_empty()
    assert Arm(label='control').is_empty()


def test_an_utterance_is_of_the_default_conversation_and_of_unknown_confidence() -> None:
    heard = Utterance('hello', received=3.0)
    assert (heard.conversation_id, heard.confidence, heard.partial) == ('default', 0.0, False)
    assert heard.arm.is_empty()
    assert math.isnan(heard.since_speech_end)
