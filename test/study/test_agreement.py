"""Observed onsets against the simulated robot's own, on instants made by hand."""
from __future__ import annotations

import math

import pytest

from pace_ros.study.agreement import Agreement, Event, Instant, ModalityAgreement, agreement, agreement_table, events
from pace_ros.turn import Content, Modality

SPEECH, GAZE, GESTURE = Modality.SPEECH, Modality.GAZE, Modality.GESTURE
ACK, FILLER, ANSWER = Content.ACKNOWLEDGEMENT, Content.FILLER, Content.ANSWER


def told(turn: str, modality: Modality, content: Content, stamp: float) -> Instant:
    return Instant(turn, modality, content, stamp, stamp)


def truth(turn: str, modality: Modality, content: Content, commanded: float, after: float) -> Instant:
    return Instant(turn, modality, content, commanded + after, commanded)


def of(result: Agreement, modality: Modality) -> ModalityAgreement:
    return next(each for each in result.modalities if each.modality is modality)


COMMANDS = [told('a', GAZE, ACK, 1.0), told('a', GESTURE, ACK, 1.0), told('a', SPEECH, ANSWER, 1.5),
            told('b', GAZE, ACK, 9.0)]
TRUTHS = [
    truth('', GAZE, Content.UNKNOWN, 1.001, 0.04),   # gaze targets carry no turn
    truth('a', GESTURE, Content.UNKNOWN, 1.002, 0.05),
    truth('a', SPEECH, ANSWER, 1.56, 0.02),
    truth('a', SPEECH, ANSWER, 3.0, 0.02),           # its second sentence
    truth('', GAZE, Content.UNKNOWN, 9.001, math.nan),  # already there
]


def test_true_onsets_get_the_turn_of_the_command_made_at_the_same_time() -> None:
    assert events(COMMANDS, TRUTHS) == [
        Event('a', GAZE, ACK, pytest.approx(1.041)), Event('a', GESTURE, ACK, pytest.approx(1.052)),
        Event('a', SPEECH, ANSWER, pytest.approx(1.58)),
    ]


def test_the_differences_are_those_of_the_same_turn_and_content() -> None:
    seen = [told('a', GAZE, ACK, 1.045), told('a', GESTURE, ACK, 1.042), told('a', SPEECH, ANSWER, 1.58)]
    result = agreement(COMMANDS, TRUTHS, seen)
    assert of(result, GAZE) == ModalityAgreement(GAZE, 1, *[pytest.approx(0.004)] * 3, 0, 0)
    assert of(result, GESTURE) == ModalityAgreement(GESTURE, 1, *[pytest.approx(0.010)] * 3, 0, 0)
    assert of(result, SPEECH) == ModalityAgreement(SPEECH, 1, *[pytest.approx(0.0, abs=1e-9)] * 3, 0, 0)
    assert result.wrong == ()


def test_what_was_missed_and_what_is_unfounded_is_counted() -> None:
    """Turn a's nod was not seen; turn b's look was seen though it never showed."""
    seen = [told('a', GAZE, ACK, 1.04), Instant('a', GESTURE, ACK, math.nan), told('a', SPEECH, ANSWER, 1.58),
            told('b', GAZE, ACK, 9.2)]
    result = agreement(COMMANDS, TRUTHS, seen)
    assert (of(result, GESTURE).count, of(result, GESTURE).missed) == (0, 1)
    assert math.isnan(of(result, GESTURE).p95)
    assert (of(result, GAZE).count, of(result, GAZE).unfounded) == (1, 1)


def test_an_onset_of_another_turn_is_wrong() -> None:
    """At 1.041 only turn a looked."""
    result = agreement(COMMANDS, TRUTHS, [told('b', GAZE, ACK, 1.05)])
    assert len(result.wrong) == 1
    assert 'was attributed to turn b, it belongs to a' in result.wrong[0]


def test_percentiles_are_taken_over_all_turns() -> None:
    """Errors of 0, 1, .. 20 ms: the median is 10, the 95th percentile 19, the worst 20."""
    commands = [told(f't{n}', GAZE, FILLER, float(n)) for n in range(21)]
    truths = [truth('', GAZE, Content.UNKNOWN, float(n), 0.03) for n in range(21)]
    seen = [told(f't{n}', GAZE, FILLER, n + 0.03 + n * 0.001) for n in range(21)]
    assert of(agreement(commands, truths, seen), GAZE) == ModalityAgreement(
        GAZE, 21, pytest.approx(0.010), pytest.approx(0.019), pytest.approx(0.020), 0, 0)


def test_the_table_shows_nothing_where_nothing_was_seen() -> None:
    table = agreement_table(agreement([], [], []))
    assert [list(column.cells) for column in table.columns][1:3] == [['0'] * 3, ['-'] * 3]
    assert table.caption == 'attributed to a wrong turn: 0'
