"""The timeline of one turn."""
from __future__ import annotations

import math
from pathlib import Path as FilePath

import pandas as pd
import pytest
from study_sessions import ACK, ANSWER, FILLER, onset, turn, write_log

from pace_ros.study.frames import load
from pace_ros.study.timeline import chosen, timeline
from pace_ros.turn import Modality, Path


@pytest.fixture
def tables(tmp_path: FilePath) -> tuple[pd.DataFrame, pd.DataFrame]:
    slow = turn('slow', 2.0, filler=0.8, t_embed=0.01, t_route=0.02, filler_budget=0.9, since_speech_end=0.25,
                filler_ready=0.7, speech_end=6.0, speech_outcome='spoken', completion=2.5)
    onset(slow, Modality.GAZE, ACK, 0.005, detail='speaker')
    onset(slow, Modality.SPEECH, FILLER, 0.85, detail='Good question!', audible=0.9)
    onset(slow, Modality.SPEECH, ANSWER, 2.2, detail='It goes 410 km.')
    records = [slow, turn('l2-fast', 1.0), turn('l2-mid', 1.5), turn('cached', 0.01, path=Path.L0), turn('failed')]
    return load([write_log(tmp_path / 'log.jsonl', records)])


def test_everything_that_happened_stands_in_order(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    line = timeline(*tables, 'slow')
    assert [(each.lane, each.name, round(each.begin, 3)) for each in line.events] == [
        ('utterance', 'end of speech', -0.25), ('utterance', 'received', 0.0), ('embed', 'embedding', 0.0),
        ('filler', 'in preparation', 0.0), ('gaze', 'acknowledgement (speaker)', 0.005),
        ('route', 'look-up and routing', 0.01), ('L2', 'waiting for the first token', 0.03),
        ('filler', 'first filler frame', 0.8), ('speech', 'filler', 0.85), ('speech', 'filler audible', 0.9),
        ('filler', 'budget ends', 0.93), ('L2', 'first token', 2.0), ('text', 'answer frames', 2.0),
        ('speech', 'answer', 2.2), ('speech', 'speech, spoken', 2.2)]
    spans = {each.name: each.end for each in line.events if not each.is_instant}
    assert spans == pytest.approx({'end of speech': 0.0, 'embedding': 0.01, 'in preparation': 0.7,
                                   'look-up and routing': 0.03, 'waiting for the first token': 2.0,
                                   'answer frames': 2.5, 'speech, spoken': 6.0})


def test_a_median_turn_of_each_path_and_the_slowest_are_chosen(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    assert [(each.turn['turn_id'], each.why) for each in chosen(*tables)] == [
        ('cached', 'median of L0'), ('l2-mid', 'median of L2'), ('slow', 'the slowest')]
    turns, onsets = tables
    assert chosen(turns.iloc[:0], onsets) == []


def test_a_turn_is_found_by_the_beginning_of_its_id(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    assert timeline(*tables, 'cach').turn['turn_id'] == 'cached'
    with pytest.raises(ValueError, match='--turn l2: 2 turns begin so'):
        timeline(*tables, 'l2')
    with pytest.raises(ValueError, match='--turn nobody: no such turn'):
        timeline(*tables, 'nobody')


def test_a_turn_of_which_little_is_known_has_no_events_at_no_time(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    line = timeline(*tables, 'failed')
    assert not any(math.isnan(each.begin) for each in line.events)
    assert line.name == 'timeline_failed'
