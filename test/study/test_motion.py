"""From command to motion, by hand."""
from __future__ import annotations

import math
from pathlib import Path as FilePath

import pytest
from study_sessions import ACK, ANSWER, FILLER, observed, onset, turn, write_bag

from pace_ros.study.frames import load
from pace_ros.study.latency import grouped
from pace_ros.study.motion import motion_latencies, motion_summary, vain_reasons
from pace_ros.turn import Modality, Onset, TurnRecord

SPEECH, GAZE, GESTURE = Modality.SPEECH, Modality.GAZE, Modality.GESTURE


def session() -> tuple[list[TurnRecord], list[Onset]]:
    records = [turn('a', 1.0), turn('b', 1.0), turn('c', 1.0)]
    for record in records:
        onset(record, GAZE, ACK, 0.01)
        onset(record, SPEECH, ANSWER, 1.1, audible=1.2)
        onset(record, Modality.TEXT, ANSWER, 1.0)
    a, b, c = records
    onset(c, GESTURE, FILLER, 0.5)
    seen = [
        observed(a, GAZE, ACK, 0.09), observed(a, GAZE, ACK, 0.5), observed(b, GAZE, ACK, 0.13),
        observed(c, GAZE, ACK, math.nan, 'not observed: no motion within 1.0 s'),
        observed(a, SPEECH, ANSWER, 1.23), observed(b, SPEECH, ANSWER, 1.0), observed(b, GAZE, ANSWER, 0.7),
    ]
    return records, seen


def test_first_onsets_are_compared_within_turn_modality_and_content(tmp_path: FilePath) -> None:
    records, seen = session()
    turns, onsets = load([write_bag(tmp_path / 'bag', records, seen)])
    motions = motion_latencies(grouped(turns, None), onsets)
    summary = motion_summary(motions).set_index(['modality', 'content'])
    look = summary.loc[('GAZE', 'ACKNOWLEDGEMENT')]
    assert look[['commanded', 'observed', 'never', 'reported', 'unasked', 'early']].tolist() == [3, 2, 1, 1, 0, 0]
    assert (look['p50'], look['greatest']) == pytest.approx((0.1, 0.12))
    speech = summary.loc[('SPEECH', 'ANSWER')]
    assert speech[['commanded', 'observed', 'never', 'reported', 'unasked', 'early']].tolist() == [3, 2, 1, 0, 0, 1]
    assert speech['p50'] == pytest.approx((0.13 - 0.1) / 2)
    assert speech['audible_p50'] == pytest.approx((0.03 - 0.2) / 2)
    assert summary.loc[('GAZE', 'ANSWER'), 'unasked'] == 1
    assert ('GESTURE', 'FILLER') not in summary.index  # no observer of gestures was there
    assert 'TEXT' not in set(motions['modality'])
    reasons = vain_reasons(motions)
    assert reasons[['modality', 'reason', 'turns']].to_numpy().tolist() == [['GAZE', 'no motion within … s', 1]]


def test_a_session_without_an_observer_has_no_motion(tmp_path: FilePath) -> None:
    records, _ = session()
    turns, onsets = load([write_bag(tmp_path / 'bag', records)])
    motions = motion_latencies(grouped(turns, None), onsets)
    assert motion_summary(motions).empty
    assert vain_reasons(motions).empty
