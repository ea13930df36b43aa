"""The whole embodied robot, its body and cloud simulated: a session from visitors to report, and interruptions."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest
from node_process import Cloud, environment
from rich.console import Console
from support import Script, answer

from benchmarks.barge_in import ALLOWED, WITHOUT_L0, Outcome, campaign
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
from pace_ros.study import load_onsets, load_turns, report
from pace_ros.study.agreement import ModalityAgreement, agreement_of
from pace_ros.turn import Modality

STORY = Script([1.2, answer('Once upon a time there was a lighthouse on a rock. ', 'It shone.')])
BRIEF = Script([1.2, answer('Nobody knows. ', 'It just is.')])
RANGE = 'What is the range of the Lark?'
BROCHURE = f'- {{id: range, questions: {{en: ["{RANGE}"]}}, answer: {{en: "410 kilometers. Drive it!"}}}}'
SOON = ('filler.generator:=false', 'filler.budget:=0.3', 'gesture.thinking_delay:=0.8', 'speech.rate:=450')
ASKS = [
    Ask('anna', RANGE),
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


@dataclass(frozen=True)
class Day:
    """What became of a robot's day."""

    bag: FilePath
    interrupted: int  # turns in the bag that were broken into
    barged_in: Outcome


@pytest.fixture(scope='module')
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """Five turns are recorded, two of them interrupted; then comes `barge_in`, each means at each moment once."""
    folder = tmp_path_factory.mktemp('day')
    (folder / 'brochure.yaml').write_text(BROCHURE)
    cloud = Cloud(STORY, BRIEF, STORY, BRIEF, STORY)
    known = environment(PACE_L2_BASE_URL=cloud.base_url)
    knowledge = f'l1.knowledge:=[{folder / "brochure.yaml"}]'
    with embodied_robot(folder, known, *SOON, *WITHOUT_L0, knowledge), Visitors() as visitors:
        with recorded(folder, known, 'mcap') as bag:
            visitors.wait_for_robot(60.0)
            interrupted = visit(visitors, ASKS, Console(quiet=True))
        barged_in = campaign(visitors, 9, 1)
    yield Day(bag, interrupted, barged_in)
    cloud.close()


@pytest.mark.timeout(150)
def test_a_session_is_recorded_observed_and_reported(
    day: Day, tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The observer agrees with what the simulated robot did."""
    assert day.interrupted == 2
    agreement = agreement_of(day.bag)
    assert agreement.wrong == ()
    for each in agreement.modalities:
        assert each.count > 0
        assert each.unfounded == 0
        assert each.p50 <= TOLERANCE
    turns, onsets = load_turns(day.bag), load_onsets(day.bag)
    assert len(turns) == 5
    assert set(onsets['turn_id']) == set(turns['turn_id'])
    seen = onsets[(onsets['source'] == 'OBSERVED') & onsets['elapsed'].notna()]
    assert {'SPEECH', 'GAZE', 'GESTURE'} == set(seen['modality'])
    monkeypatch.setattr(report, 'FORMATS', ('terminal', 'html'))  # "all" of them are slow, and proved with the report
    assert reported(day.bag, tmp_path / 'report') == 0
    assert (tmp_path / 'report' / 'report.html').read_text(encoding='utf-8').startswith('<!DOCTYPE html>')


def test_nothing_of_a_turn_is_left_after_a_barge_in(day: Day) -> None:
    assert day.barged_in.made.total() == 9
    assert set(day.barged_in.last) >= {'sound', 'onset', 'gesture', 'arms', 'eyes aside'}
    for what, after in day.barged_in.last.items():
        assert np.median(after) <= ALLOWED, what
        assert max(after) < 5 * ALLOWED, what
