"""PTFR and PL by modality, by hand."""
from __future__ import annotations

import math
from pathlib import Path as FilePath

import pandas as pd
import pytest
from study_sessions import ACK, ANSWER, FILLER, observed, onset, turn, write_bag, write_log

from pace_ros.study.frames import load
from pace_ros.study.latency import alpha_curve, grouped, latencies, latency_summary
from pace_ros.turn import Arm, Modality, Onset, Path, TurnRecord

TEXT, SPEECH, GAZE, GESTURE = Modality.TEXT, Modality.SPEECH, Modality.GAZE, Modality.GESTURE


def asked() -> TurnRecord:
    """A turn of L2 with fillers of three kinds."""
    record = turn('asked', 2.0, filler=0.8)
    for modality, content, elapsed in (
        (GAZE, ACK, 0.01), (GESTURE, ACK, 0.02), (TEXT, FILLER, 0.8), (GAZE, FILLER, 0.7), (TEXT, ANSWER, 2.01),
        (GAZE, ANSWER, 2.02), (GESTURE, ANSWER, 3.5), (GESTURE, ANSWER, 3.0),
    ):
        onset(record, modality, content, elapsed)
    onset(record, SPEECH, FILLER, 0.9, audible=1.0)
    onset(record, SPEECH, ANSWER, 2.4, audible=2.6)
    return record


def excused() -> TurnRecord:
    """A turn that failed: its apology is an onset, yet no informative answer."""
    record = turn('excused', path=Path.UNKNOWN)
    onset(record, GAZE, ACK, 0.03)
    onset(record, SPEECH, ANSWER, 4.0, audible=4.1)
    return record


def seen() -> list[Onset]:
    return [observed(asked(), GAZE, ACK, 0.11), observed(asked(), SPEECH, FILLER, 1.05),
            observed(asked(), SPEECH, ANSWER, 2.65), observed(asked(), GAZE, FILLER, math.nan, 'no motion'),
            observed(asked(), GAZE, ANSWER, 2.15), observed(excused(), SPEECH, ANSWER, 4.2)]


@pytest.fixture
def tables(tmp_path: FilePath) -> tuple[pd.DataFrame, pd.DataFrame]:
    turns, onsets = load([write_bag(tmp_path / 'bag', [asked(), excused()], seen())])
    return grouped(turns, None), onsets


def value(times: pd.DataFrame, turn_id: str, view: str, modality: str, measure: str) -> float:
    found = times.set_index(['turn_id', 'view', 'modality']).sort_index().loc[[(turn_id, view, modality)], measure]
    assert len(found) == 1
    return float(found.iloc[0])


@pytest.mark.parametrize(('view', 'modality', 'ptfr', 'pl', 'acknowledgement'), [
    ('RECORD', 'TEXT', 2.0, 0.8, math.nan),
    ('COMMANDED', 'TEXT', 2.01, 0.8, math.nan),
    ('COMMANDED', 'SPEECH', 2.4, 0.9, math.nan),
    ('AUDIBLE', 'SPEECH', 2.6, 1.0, math.nan),
    ('OBSERVED', 'SPEECH', 2.65, 1.05, math.nan),
    ('COMMANDED', 'GAZE', 2.02, 0.7, 0.01),
    ('OBSERVED', 'GAZE', 2.15, 2.15, 0.11),  # its filler was never seen
    ('COMMANDED', 'GESTURE', 3.0, 3.0, 0.02),  # the first of two beats
    ('COMMANDED', 'EARLIEST', 2.01, 0.7, 0.01),
    ('OBSERVED', 'EARLIEST', 2.15, 1.05, 0.11),
])
def test_each_modality_has_its_own_latencies(
    tables: tuple[pd.DataFrame, pd.DataFrame], view: str, modality: str, ptfr: float, pl: float, acknowledgement: float
) -> None:
    times = latencies(*tables)
    for measure, wanted in (('ptfr', ptfr), ('pl', pl), ('acknowledgement', acknowledgement)):
        assert value(times, 'asked', view, modality, measure) == pytest.approx(wanted, nan_ok=True)


def test_an_apology_is_a_response_but_not_an_informative_one(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    times = latencies(*tables)
    assert math.isnan(value(times, 'excused', 'COMMANDED', 'SPEECH', 'ptfr'))
    assert math.isnan(value(times, 'excused', 'COMMANDED', 'SPEECH', 'pl'))
    assert value(times, 'excused', 'COMMANDED', 'SPEECH', 'response') == 4.0
    assert value(times, 'excused', 'AUDIBLE', 'SPEECH', 'response') == pytest.approx(4.1)
    assert value(times, 'excused', 'OBSERVED', 'EARLIEST', 'response') == pytest.approx(4.2)
    assert value(times, 'excused', 'COMMANDED', 'EARLIEST', 'sign') == pytest.approx(0.03)


def test_what_a_session_measured_and_a_turn_lacked_is_missing(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    turns, onsets = tables
    summary = latency_summary(turns, latencies(turns, onsets)).set_index(['measure', 'modality', 'view'])
    row = summary.loc[('PTFR', 'SPEECH', 'OBSERVED')]
    assert (row['n'], row['missing'], row['p50']) == (1, 1, pytest.approx(2.65))
    assert math.isnan(row['p50_low'])  # one value has no interval
    assert ('PTFR', 'TEXT', 'OBSERVED') not in summary.index  # nobody observes text
    assert (summary.loc[('first response', 'EARLIEST', 'COMMANDED')][['within_0.5', 'within_1.0']] == [0.0, 0.5]).all()
    assert (summary.loc[('first sign', 'EARLIEST', 'COMMANDED')][['within_0.5', 'within_1.0']] == [1.0, 1.0]).all()


def test_quantiles_of_a_known_sample(tmp_path: FilePath) -> None:
    log = write_log(tmp_path / 'log.jsonl', [turn(f't{each}', each / 100) for each in range(1, 101)])
    turns, onsets = load([log])
    turns = grouped(turns, None)
    row = latency_summary(turns, latencies(turns, onsets)).set_index('measure').loc['PTFR']
    assert (row['n'], row['missing']) == (100, 0)
    assert (row['p50'], row['p95'], row['p99']) == pytest.approx((0.505, 0.9505, 0.9901))
    assert row['p95_low'] <= 0.9505 <= row['p95_high']
    assert math.isnan(row['p99_low'])
    assert (row['within_0.5'], row['within_1.0']) == (0.5, 1.0)


def test_groups_stand_side_by_side_and_a_session_without_an_observer_is_not_counted_as_missing(
    tmp_path: FilePath
) -> None:
    watched = write_bag(tmp_path / 'one', [asked()], seen()[:5], namespace='/robot1')
    alone = turn('alone', 1.0)
    onset(alone, SPEECH, ANSWER, 1.2)
    unwatched = write_bag(tmp_path / 'two', [alone], namespace='/robot2')
    turns, onsets = load([watched, unwatched])
    turns = grouped(turns, 'robot')
    summary = latency_summary(turns, latencies(turns, onsets)).set_index(['measure', 'modality', 'view'])['group']
    assert list(summary.loc[[('PTFR', 'SPEECH', 'COMMANDED')]]) == ['robot1', 'robot2']
    assert list(summary.loc[[('PTFR', 'SPEECH', 'OBSERVED')]]) == ['robot1']


def test_a_group_without_a_name_is_called_something(tmp_path: FilePath) -> None:
    records = [turn('a', 1.0), turn('b', 1.0, arm=Arm(label='PACE-static'))]
    turns, _ = load([write_log(tmp_path / 'log.jsonl', records)])
    assert list(grouped(turns, 'arm')['group']) == ['own settings', 'PACE-static']
    assert set(grouped(turns, 'robot')['group']) == {'no namespace'}


def test_the_worth_of_a_filler_goes_from_ptfr_to_pl(tmp_path: FilePath) -> None:
    records = [turn('a', 2.0, filler=1.0), turn('b', 3.0), turn('c', 0.5, filler=0.7), turn('d', filler=0.1)]
    turns, _ = load([write_log(tmp_path / 'log.jsonl', records)])
    curve = alpha_curve(grouped(turns, None)).set_index('alpha')
    assert set(curve['n']) == {3}  # without an answer there is no PTFR
    assert curve.loc[0.0, 'mean'] == pytest.approx(5.5 / 3)
    assert curve.loc[0.5, 'mean'] == pytest.approx((1.5 + 3.0 + 0.5) / 3)
    assert curve.loc[1.0, 'mean'] == pytest.approx(4.5 / 3)
    assert curve.loc[0.5, 'p50'] == pytest.approx(1.5)
    assert curve['p50'].is_monotonic_decreasing


def with_preamble(turn_id: str, ptfr: float = math.nan) -> TurnRecord:
    """A turn whose model said something at 0.6 s and then called a tool: its onsets were published as an answer's."""
    record = turn(turn_id, ptfr, ttfet_preamble=0.6)
    onset(record, TEXT, ANSWER, 0.6)
    onset(record, SPEECH, ANSWER, 0.8, audible=0.9)
    if record.has_answer:
        onset(record, TEXT, ANSWER, ptfr)
        onset(record, SPEECH, ANSWER, ptfr + 0.3, audible=ptfr + 0.4)
    return record


@pytest.mark.parametrize(('view', 'modality', 'ptfr', 'pl'), [
    ('RECORD', 'TEXT', 3.0, 0.6), ('COMMANDED', 'TEXT', 3.0, 0.6), ('COMMANDED', 'SPEECH', 3.3, 0.8),
    ('AUDIBLE', 'SPEECH', 3.4, 0.9), ('OBSERVED', 'SPEECH', 3.5, 1.0), ('COMMANDED', 'EARLIEST', 3.0, 0.6),
])
def test_a_preamble_counts_as_a_filler_in_every_view(
    tmp_path: FilePath, view: str, modality: str, ptfr: float, pl: float
) -> None:
    records = [with_preamble('answered', 3.0), with_preamble('failed')]
    watched = [observed(each, SPEECH, ANSWER, 1.0) for each in records] + [observed(records[0], SPEECH, ANSWER, 3.5)]
    times = latencies(*load([write_bag(tmp_path / 'bag', records, watched)]))
    assert value(times, 'answered', view, modality, 'ptfr') == pytest.approx(ptfr)
    assert value(times, 'answered', view, modality, 'filler') == pytest.approx(pl)
    for turn_id in ('answered', 'failed'):
        assert value(times, turn_id, view, modality, 'pl') == pytest.approx(pl)
    assert math.isnan(value(times, 'failed', view, modality, 'ptfr'))


def test_of_filler_and_preamble_the_first_counts_by_the_records(tmp_path: FilePath) -> None:
    records = [turn('a', 2.0, filler=1.0, ttfet_preamble=1.5), turn('b', 3.0, ttfet_preamble=0.5), turn('c', 4.0)]
    turns, onsets = load([write_log(tmp_path / 'log.jsonl', records)])
    times = latencies(turns, onsets)
    assert [value(times, each, 'RECORD', 'TEXT', 'pl') for each in 'abc'] == [1.0, 0.5, 4.0]
    curve = alpha_curve(grouped(turns, None)).set_index('alpha')
    assert curve.loc[[0.0, 0.5, 1.0], 'mean'].tolist() == pytest.approx([9 / 3, 7.25 / 3, 5.5 / 3])


def test_from_the_end_of_speech_the_recogniser_s_time_is_added_where_it_is_known(tmp_path: FilePath) -> None:
    """0.3 s between the end of speech and receipt; the other utterance has no stamp."""
    known = turn('known', 2.0, filler=0.5, since_speech_end=0.3)
    turns, onsets = load([write_log(tmp_path / 'turns.jsonl', [known, turn('unknown', 1.0)])])
    times = latencies(turns, onsets)
    assert value(times, 'known', 'RECORD', 'TEXT', 'ptfr_end') == pytest.approx(2.3)
    assert value(times, 'known', 'RECORD', 'TEXT', 'pl_end') == pytest.approx(0.8)
    assert math.isnan(value(times, 'unknown', 'RECORD', 'TEXT', 'ptfr_end'))
    assert value(times, 'known', 'RECORD', 'TEXT', 'ptfr') == 2.0, 'never mixed'
