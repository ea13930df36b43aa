"""A session replayed with its own L2 traffic: the same turns, at whatever pace the utterances come."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest
from node_process import ROOT, environment
from support import Script, answer

from benchmarks.replay import SAME, campaign
from pace_ros.record import read_turns
from pace_ros.turn import Path

SLOW = Script([0.3, answer('Once upon a time.')])
SLOWER = Script([0.5, answer('There was', ' a lighthouse.')])


@pytest.mark.timeout(150)
def test_a_replay_with_the_recorded_traffic_is_the_same_at_every_pace(
    tmp_path: FilePath, cloud: Callable[..., Any]
) -> None:
    """The short form of the campaign `replay`. The cloud is gone by then: what answers is the recording."""
    known = environment(PACE_L2_BASE_URL=cloud(SLOW, SLOWER, SLOW, SLOWER).base_url)
    quick = ('filler.generator:=false', 'filler.budget:=0.1', 'speech.enabled:=false',
             f'l1.knowledge:=[{ROOT}/test/lark.yaml]')
    runs = campaign(tmp_path, 6, 114, ['4', 'fast'], known, *quick)  # four open questions, a known, a repeated one
    paths = {record.path for record in read_turns(tmp_path / 'turns.jsonl')}
    assert paths == {Path.L0, Path.L1, Path.L2}
    for run in runs:
        assert run.turns == 6
        assert run.decisive == []
        assert len(run.durations['filler_elapsed']) == 4
        for name, differences in run.durations.items():
            assert np.median(np.abs(differences)) <= SAME, name
