"""What the body does in one turn, and what it must never do."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.config import Config
from pace_ros.config_body import Nonverbal
from pace_ros.embodiment.body_language import BodyLanguage, BodyMemory, delay, other_than
from pace_ros.settings import with_values
from pace_ros.turn import Content, Modality

ACK, FILLER, ANSWER = Content.ACKNOWLEDGEMENT, Content.FILLER, Content.ANSWER
SPEAKER = 'look at the speaker'


@dataclass
class Timer:
    due: float
    act: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass
class Stage:
    """A body that notes what it is told, and time that moves when told to."""

    settings: dict[str, object] = field(default_factory=dict)
    memory: BodyMemory = field(default_factory=BodyMemory)
    now: float = 0.0
    timers: list[Timer] = field(default_factory=list)
    done: list[tuple[float, str]] = field(default_factory=list)
    onsets: list[tuple[float, Modality, Content, str]] = field(default_factory=list)

    def look_at_speaker(self) -> None:
        self.done.append((self.now, SPEAKER))

    def look_aside(self, side: float, up: float) -> None:
        self.done.append((self.now, f'look {side:+.1f} {up:+.1f}'))

    def gesture(self, turn_id: str, name: str) -> None:
        assert turn_id == 't1'
        self.done.append((self.now, name))

    def rest(self) -> None:
        self.done.append((self.now, 'rest'))

    def begin(self) -> BodyLanguage:
        config = with_values(Config(), self.settings)
        return BodyLanguage('t1', self, lambda: config, self.memory, elapsed=lambda: self.now, call_later=self._later,
                            note=lambda *what: self.onsets.append((self.now, *what)))

    def _later(self, seconds: float, act: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now + seconds, act))
        return self.timers[-1]

    def to(self, instant: float) -> None:
        """Let time pass; what is due happens."""
        while due := [each for each in self.timers if not each.cancelled and each.due <= instant + 1e-9]:
            timer = min(due, key=lambda each: each.due)
            self.timers.remove(timer)
            self.now = max(self.now, timer.due)
            timer.act()
        self.now = instant

    def acts(self) -> list[str]:
        return [what for _, what in self.done]


def test_attention_is_a_look_and_a_nod_ten_milliseconds_after_receipt() -> None:
    stage = Stage()
    stage.begin()
    stage.to(0.009)
    assert stage.done == []
    stage.to(1.0)
    assert stage.done == [(0.01, SPEAKER), (0.01, 'nod')]
    assert stage.onsets == [(0.01, Modality.GAZE, ACK, 'speaker'), (0.01, Modality.GESTURE, ACK, 'nod')]


@pytest.mark.parametrize(('settings', 'expected'), [
    ({'gaze.enabled': False}, ['nod']),
    ({'gesture.enabled': False}, [SPEAKER]),
    ({'gesture.nod': ''}, [SPEAKER]),
    ({'gesture.nod': 'bow'}, [SPEAKER, 'bow']),
    ({'gaze.enabled': False, 'gesture.enabled': False}, []),
])
def test_each_sign_of_attention_can_be_switched_off(settings: dict[str, object], expected: list[str]) -> None:
    stage = Stage(settings)
    stage.begin()
    stage.to(1.0)
    assert stage.acts() == expected


def test_a_wait_is_filled_by_a_look_aside_then_a_pose_and_both_end_with_the_answer() -> None:
    stage = Stage()
    body = stage.begin()
    stage.to(0.03)
    assert body.think(expected=1.5) == 'gaze after 0.60 s, gesture after 1.20 s'
    stage.to(2.0)
    body.answer_begins(informative=True)
    assert stage.done[2:] == [(0.6, 'look +0.6 +0.0'), (1.2, 'think'), (2.0, SPEAKER), (2.0, 'rest')]
    assert stage.onsets[2:] == [
        (0.6, Modality.GAZE, FILLER, 'aside left'), (1.2, Modality.GESTURE, FILLER, 'think'),
        (2.0, Modality.GAZE, ANSWER, 'speaker'),
    ]


def test_an_instant_answer_is_not_accompanied_by_fillers() -> None:
    """Nobody asks the model, so nobody calls think; attention still due is shown beside the answer."""
    stage = Stage()
    body = stage.begin()
    stage.to(0.004)
    body.answer_begins(informative=True)
    stage.to(5.0)
    assert stage.acts() == [SPEAKER, 'nod']
    assert {content for _, _, content, _ in stage.onsets} == {ACK}


@pytest.mark.parametrize('answered', [0.1, 0.59, 0.61, 1.19])
def test_no_filler_after_the_answer_has_begun(answered: float) -> None:
    stage = Stage()
    body = stage.begin()
    body.think(expected=1.5)
    stage.to(answered)
    body.answer_begins(informative=True)
    stage.to(30.0)
    fillers = [when for when, _, content, _ in stage.onsets if content is FILLER]
    assert fillers == ([0.6] if answered > 0.6 else [])
    assert body.think(expected=1.5) == 'gaze off, gesture off'
    stage.to(60.0)
    assert len([content for _, _, content, _ in stage.onsets if content is FILLER]) == len(fillers)


def test_an_apology_brings_the_eyes_back_but_is_no_answer() -> None:
    stage = Stage()
    body = stage.begin()
    body.think(expected=1.5)
    stage.to(0.7)
    body.answer_begins(informative=False)
    assert stage.done[-1] == (0.7, SPEAKER)
    assert ANSWER not in {content for _, _, content, _ in stage.onsets}


@pytest.mark.parametrize(('stopped', 'expected'), [
    (0.005, []),                                                             # before the attention
    (0.3, [SPEAKER, 'nod', 'rest']),                                         # in the nod
    (0.8, [SPEAKER, 'nod', 'look +0.6 +0.0', SPEAKER, 'rest']),              # looking aside
    (1.5, [SPEAKER, 'nod', 'look +0.6 +0.0', 'think', SPEAKER, 'rest']),     # in the pose
])
def test_a_stopped_turn_takes_back_what_it_moved_and_moves_nothing_more(stopped: float, expected: list[str]) -> None:
    stage = Stage()
    body = stage.begin()
    body.think(expected=1.5)
    stage.to(stopped)
    before = list(stage.onsets)
    body.stop()
    body.stop()
    body.attend()
    body.answer_begins(informative=True)
    body.sentence_begins()
    body.think(expected=1.5)
    stage.to(60.0)
    assert stage.acts() == expected
    assert stage.onsets == before
    assert not [timer for timer in stage.timers if not timer.cancelled]


def test_a_turn_that_is_followed_leaves_the_eyes_to_the_next_one() -> None:
    stage = Stage()
    body = stage.begin()
    body.think(expected=1.5)
    stage.to(1.5)
    body.stop(look_back=False)
    assert stage.acts()[-2:] == ['think', 'rest']


def test_eyes_left_aside_come_back_if_the_next_turn_is_stopped_before_it_has_looked() -> None:
    memory = BodyMemory()
    first = Stage(memory=memory)
    body = first.begin()
    body.think(expected=1.5)
    first.to(0.7)
    body.stop(look_back=False)
    assert memory.averted
    second = Stage(memory=memory)
    second.begin().stop()
    assert second.acts() == [SPEAKER]
    assert not memory.averted


def test_looking_aside_may_be_upwards() -> None:
    stage = Stage({'gaze.aversion_up': 0.3, 'gaze.aversion_side': 0.2})
    stage.begin().think(expected=1.5)
    stage.to(1.0)
    assert stage.acts()[-1] == 'look +0.2 +0.3'


def test_a_finished_turn_lets_its_last_motion_come_to_its_end() -> None:
    stage = Stage()
    body = stage.begin()
    stage.to(0.02)
    body.finish()
    body.stop()
    stage.to(60.0)
    assert stage.acts() == [SPEAKER, 'nod']


def test_no_filler_comes_twice_running_in_a_conversation() -> None:
    memory, seen = BodyMemory(), []
    for _ in range(4):
        stage = Stage(memory=memory)
        stage.begin().think(expected=1.5)
        stage.to(3.0)
        seen.append([what for _, _, content, what in stage.onsets if content is FILLER])
    assert seen == [['aside left', 'think'], ['aside right', 'ponder'], ['aside left', 'think'],
                    ['aside right', 'ponder']]


def test_the_only_pose_is_left_out_every_other_time() -> None:
    memory, seen = BodyMemory(), []
    for _ in range(4):
        stage = Stage({'gesture.thinking': ['think']}, memory)
        stage.begin().think(expected=1.5)
        stage.to(3.0)
        seen.append('think' in stage.acts())
    assert seen == [True, False, True, False]


@pytest.mark.parametrize(('settings', 'said', 'expected'), [
    ({'gaze.aversion': False}, 'gaze off, gesture after 1.20 s', ['think']),
    ({'gaze.enabled': False}, 'gaze off, gesture after 1.20 s', ['think']),
    ({'gesture.thinking': []}, 'gaze after 0.60 s, gesture off', ['aside left']),
    ({'gesture.enabled': False}, 'gaze after 0.60 s, gesture off', ['aside left']),
])
def test_each_filler_can_be_switched_off(settings: dict[str, object], said: str, expected: list[str]) -> None:
    stage = Stage(settings)
    assert stage.begin().think(expected=1.5) == said
    stage.to(3.0)
    assert [what for _, _, content, what in stage.onsets if content is FILLER] == expected


def test_the_law_expected_waits_longer_for_a_slower_cloud_and_leaves_short_waits_alone() -> None:
    """share 0.5 of 4 s is 2 s; of 1.5 s it is 0.75 s; 0.2 s + 0.7 s are within the tolerance of 1 s."""
    law = Nonverbal(law='expected')
    assert delay(law, 0.6, expected=4.0, elapsed=0.2) == 2.0
    assert delay(law, 0.6, expected=1.5, elapsed=0.2) == 0.75
    assert delay(law, 1.2, expected=1.5, elapsed=0.2) == 1.2
    assert delay(law, 0.6, expected=0.7, elapsed=0.2) is None
    assert delay(Nonverbal(), 0.6, expected=0.1, elapsed=0.0) == 0.6
    stage = Stage({'nonverbal.law': 'expected'})
    reason = 'not needed: an answer is expected within the tolerance'
    assert stage.begin().think(expected=0.9) == f'gaze {reason}, gesture {reason}'
    stage.to(9.0)
    assert FILLER not in {content for _, _, content, _ in stage.onsets}


@given(st.floats(0.0, 10.0), st.floats(0.0, 10.0), st.floats(0.0, 30.0), st.floats(0.0, 30.0), st.floats(0.0, 30.0))
def test_no_law_fills_a_wait_before_its_own_delay(
    share: float, tolerance: float, own: float, expected: float, elapsed: float
) -> None:
    after = delay(Nonverbal('expected', share, tolerance), own, expected=expected, elapsed=elapsed)
    assert (after is None) == (elapsed + expected <= tolerance)
    assert after is None or after >= own


def test_a_long_answer_is_accompanied_by_beats_in_turn_and_a_short_one_by_none() -> None:
    """Sentences begin at 1, 2, 4, 5, 7 s: a beat at least 2.5 s after the first sentence and after another beat."""
    stage = Stage()
    body = stage.begin()
    body.answer_begins(informative=True)
    for instant in (1.0, 2.0, 4.0, 5.0, 7.0):
        stage.to(instant)
        body.sentence_begins()
    assert stage.done[2:] == [(4.0, 'beat_right'), (7.0, 'beat_left')]
    assert [onset for onset in stage.onsets if onset[2] is ANSWER] == [(4.0, Modality.GESTURE, ANSWER, 'beat_right')]


def test_beats_can_be_switched_off_and_a_single_one_may_repeat() -> None:
    for beats, expected in (([], []), (['beat'], ['beat', 'beat'])):
        stage = Stage({'gesture.beats': beats})
        body = stage.begin()
        for instant in (1.0, 4.0, 7.0):
            stage.to(instant)
            body.sentence_begins()
        assert stage.acts()[2:] == expected


@given(st.lists(st.sampled_from('abcd'), unique=True), st.sampled_from(['', 'a', 'b', 'x']))
def test_another_name_is_never_the_last(names: list[str], last: str) -> None:
    name = other_than(last, names)
    assert name != last or not name
    assert bool(name) == any(each != last for each in names)
