"""Paths, outcomes and fillers, counted."""
from __future__ import annotations

from pathlib import Path as FilePath

import pytest
from study_sessions import FILLER, onset, turn, write_log

from pace_ros.study.frames import load
from pace_ros.study.latency import grouped
from pace_ros.study.usage import filler_decisions, filler_use, outcomes, path_shares
from pace_ros.turn import Modality, Outcome, Path


def test_shares_and_fillers_of_a_known_session(tmp_path: FilePath) -> None:
    records = [
        turn('a', 0.01, path=Path.L0, filler_decision='adaptive: P(inst) 0.800 > 0.7'),
        turn('b', 2.0, filler=0.8, filler_conflict='quantity', filler_decision='adaptive: P(inst) 0.300 <= 0.7'),
        turn('c', 3.0, filler=1.0, filler_decision='adaptive: P(inst) 0.400 <= 0.7'),
        turn('d', 1.0, outcome=Outcome.PREEMPTED),
        turn('e', filler=0.9, path=Path.UNKNOWN),
    ]
    onset(records[2], Modality.GAZE, FILLER, 1.0)
    turns, onsets = load([write_log(tmp_path / 'log.jsonl', records)])
    turns = grouped(turns, None)
    paths = path_shares(turns).set_index('path')
    assert paths['turns'].to_dict() == {'L0': 1, 'L2': 3, 'UNKNOWN': 1}
    assert paths.loc['L2', ['share', 'ptfr_p50']].tolist() == [0.6, 2.0]
    ended = outcomes(turns).set_index('outcome')
    assert ended['answer_begun'].to_dict() == {'ANSWERED': 3, 'PREEMPTED': 1, 'FAILED': 0}
    use = filler_use(turns, onsets).iloc[0]
    assert use[['turns', 'launched', 'shown', 'before_answer', 'gaze', 'gesture', 'conflicts']].tolist() == [
        5, 3, 3, 2, 1, 0, 1]
    assert (use['shown_share'], use['shown_l2_share'], use['conflict_rate']) == pytest.approx((0.6, 2 / 3, 0.5))
    assert use['gained_p50'] == pytest.approx(1.6)
    decisions = filler_decisions(turns)
    assert decisions[['decision', 'turns']].to_numpy().tolist() == [
        ['adaptive: P(inst) … <= …', 2], ['adaptive: P(inst) … > …', 1]]
