"""The whole embodied robot, its body and cloud simulated: a session from visitors to report, and interruptions."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest
from node_process import ROOT, environment
from rich.console import Console
from support import Script, answer

from benchmarks.barge_in import ALLOWED, campaign
from pace_ros.ros.session import (
    EVERY,
    TOLERANCE,
    Ask,
    embodied_robot,
    is_good,
    recorded,
    reported,
    script,
    visit,
)
from pace_ros.ros.visitors import MOMENTS, STOP, UTTERANCE, VOICE, Interruption, Visitors
from pace_ros.study import load_onsets, load_turns
from pace_ros.study.agreement import ModalityAgreement, agreement_of
from pace_ros.turn import Modality

STORY = Script([1.5, answer('Once upon a time there was a lighthouse on a rock. ', 'It shone.')])
SOON = ('filler.generator:=false', 'filler.budget:=0.3', 'gesture.thinking_delay:=0.9', 'speech.rate:=450',
        f'l1.knowledge:=[{ROOT}/test/lark.yaml]')
ASKS = [
    Ask('anna', 'What is the range of the Lark?'),
    Ask('anna', 'Please tell me a story about whales.', Interruption(UTTERANCE, 'answer', 0.4)),
    Ask('anna', 'Why is the sea salty?'),
    Ask('ben', 'Please tell me a story about honey.', Interruption(STOP, 'gesture', 0.2)),
    Ask('ben', 'What makes a good picnic?'),
]


def test_the_script_is_the_same_for_the_same_seed_and_interrupts_in_every_way() -> None:
    asks = script(60, 1)
    assert asks == script(60, 1)
    assert asks != script(60, 2)
    kinds = Counter((each.interruption.by, each.interruption.moment) for each in asks if each.interruption)
    assert set(kinds) == {(by, moment) for by in (UTTERANCE, VOICE, STOP) for moment in MOMENTS}
    for one, following in pairwise(asks):
        assert one.interruption is None or following.conversation == one.conversation, 'the next one pre-empts it'
    assert [number for number, each in enumerate(asks) if each.interruption] == list(range(EVERY - 1, 59, EVERY))


@pytest.mark.parametrize(('fields', 'good'), [
    ((40, 0.002, 0.019, 0.03, 4, 0), True),
    ((0, float('nan'), float('nan'), float('nan'), 0, 0), False),  # a blind observer
    ((40, 0.002, 0.021, 0.03, 0, 0), False),
    ((40, 0.002, 0.019, 0.03, 9, 0), False),
    ((40, 0.002, 0.019, 0.03, 0, 1), False),
])
def test_a_session_is_good_where_enough_was_seen_and_nothing_else(fields: tuple[Any, ...], good: bool) -> None:
    assert is_good(ModalityAgreement(Modality.GAZE, *fields)) == good


@pytest.mark.timeout(150)
def test_a_session_is_recorded_observed_and_reported(tmp_path: FilePath, cloud: Callable[..., Any]) -> None:
    """Five turns, two of them interrupted; the observer agrees with what the simulated robot did."""
    known = environment(PACE_L2_BASE_URL=cloud(STORY).base_url)
    with (
        embodied_robot(tmp_path, known, *SOON), recorded(tmp_path, known, 'mcap') as bag, Visitors() as visitors
    ):
        visitors.wait_for_robot(60.0)
        assert visit(visitors, ASKS, Console(quiet=True)) == 2
    agreement = agreement_of(bag)
    assert agreement.wrong == ()
    for each in agreement.modalities:
        assert each.count > 0
        assert each.unfounded == 0
        assert each.p50 <= TOLERANCE
    turns, onsets = load_turns(bag), load_onsets(bag)
    assert len(turns) == 5
    assert set(onsets['turn_id']) == set(turns['turn_id'])
    seen = onsets[(onsets['source'] == 'OBSERVED') & onsets['elapsed'].notna()]
    assert {'SPEECH', 'GAZE', 'GESTURE'} == set(seen['modality'])
    assert reported(bag, tmp_path / 'report') == 0
    assert (tmp_path / 'report' / 'report.html').read_text(encoding='utf-8').startswith('<!DOCTYPE html>')


@pytest.mark.timeout(150)
def test_nothing_of_a_turn_is_left_after_a_barge_in(tmp_path: FilePath, cloud: Callable[..., Any]) -> None:
    """The short form of the campaign `barge_in`: each means at each moment once."""
    outcome = campaign(tmp_path, 9, 1, environment(PACE_L2_BASE_URL=cloud(STORY).base_url), *SOON)
    assert outcome.made.total() == 9
    assert set(outcome.last) >= {'sound', 'onset', 'gesture', 'arms', 'eyes aside'}
    for what, after in outcome.last.items():
        assert np.median(after) <= ALLOWED, what
        assert max(after) < 5 * ALLOWED, what
