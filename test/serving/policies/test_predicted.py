"""The per-turn predictor: its costs by hand, its errors, its memory."""
from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.clock import VirtualClock
from pace_ros.serving.admission import Admission
from pace_ros.serving.fleet import AdmissionSettings
from pace_ros.serving.placement import Placement, ReplicaView, Turn
from pace_ros.serving.policies import answer_lengths
from pace_ros.serving.policies.answer_lengths import USUAL, AnswerLengths
from pace_ros.serving.policies.predicted import Predicted

LATER = Turn('ann', 2, 500, 1000)


def view(name: str, role: str = 'decode', **facts: Any) -> ReplicaView:
    defaults = {'free': 8000, 'free_slots': 4, 'context': 2000, 'capacity': 8000, 'rate': 100.0}
    return ReplicaView(name=name, prefills=role != 'decode', decodes=role != 'prefill', **{**defaults, **facts})


def predicted(answer: float) -> Predicted:
    return Predicted(oracle=lambda turn: answer, token=0.1, move=0.5)


def test_a_short_append_is_read_at_home() -> None:
    # at home 40 tokens: 0.4 s; on the prefiller all 500: 5 s and a move
    fleet = [view('p', 'prefill'), view('home', held=460), view('away')]
    assert predicted(20).place(LATER, fleet, 'home') == Placement('home', 'home')


def test_a_long_append_is_read_on_the_prefiller_once_it_would_hold_up_others() -> None:
    # at home 300 tokens: 3 s, and a quarter of it for each of 8 streams, 9 s; on the prefiller 500: 5 s and 0.5 s to
    # move
    fleet = [view('p', 'prefill'), view('home', held=200, streams=8)]
    assert predicted(1).place(LATER, fleet, 'home') == Placement('p', 'home')
    alone = [view('p', 'prefill'), view('home', held=200, streams=0)]
    assert predicted(1).place(LATER, alone, 'home') == Placement('home', 'home')


def test_a_prefiller_with_a_long_line_is_passed_by() -> None:
    # 400 tokens wait: 9.5 s against 9 s at home
    fleet = [view('p', 'prefill', waiting=400), view('home', held=200, streams=8)]
    assert predicted(1).place(LATER, fleet, 'home') == Placement('home', 'home')


def test_a_long_answer_moves_to_an_empty_decoder_with_its_cache_and_a_short_one_stays() -> None:
    # at home: 1 token read for itself and 4 others; beside 4 others, each with USUAL / 2 = 32 tokens to go, a long
    # answer costs 0.1 * 2 * 0.25 * 4 * 32 = 6.4 s more than alone, one of 1 token 0.2 s: a move costs 0.5 s
    fleet = [view('home', held=499, streams=4), view('away')]
    assert predicted(500).place(LATER, fleet, 'home') == Placement('home', 'away')
    assert predicted(1).place(LATER, fleet, 'home') == Placement('home', 'home')


def test_admission_counts_what_every_replica_reads() -> None:
    fleet = [view('p', 'prefill', rate=100.0), view('one', rate=70.0), view('two', rate=30.0)]
    policy = predicted(10)
    admission = Admission(AdmissionSettings(utilisation=0.5), VirtualClock())
    assert admission.throughput(fleet) == 50.0
    assert admission.throughput(policy.seen(fleet)) == 100.0
    busy = policy.seen([view('p', 'prefill', waiting=900), view('one', streams=40), view('two', free=500)])
    # 'one' has room, but 40 are answered there: the prompt is read where nobody is
    assert policy.place(Turn('ann', 1, 400, 500), busy, None) == Placement('two', 'one')


def test_a_tie_goes_to_where_most_kv_is_left() -> None:
    fleet = [view('a', free=3000), view('b', free=4000), view('c', free=2000)]
    assert predicted(10).place(Turn('ann', 1, 500, 1000), fleet, None) == Placement('b', 'b')


def test_nothing_is_moved_where_caches_cannot_be_handed_over() -> None:
    fleet = [view('p', 'prefill', hands_over=False), view('home', held=200, streams=8, hands_over=False)]
    assert predicted(1).place(LATER, fleet, 'home') == Placement('home', 'home')


def test_without_errors_the_oracle_is_believed_and_with_errors_alone_never() -> None:
    truths = [4.0, 32.0, 64.0, 120.0, 500.0]
    for error, right in ((0.0, True), (1.0, False)):
        lengths = AnswerLengths(error, random.Random(1), lambda turn: truths[turn.number])
        guesses = [lengths.predict(Turn('ann', number, 10, 10_000)) for number in range(len(truths))]
        assert [guess == truth for guess, truth in zip(guesses, truths, strict=True)] == [right] * len(truths)
        if not right:  # long for short: 64**2 / 4, and the other way round: 64**2 / 500
            assert guesses[0] == 1024.0
            assert guesses[4] == pytest.approx(8.192)
            assert all(guess in (truth * 4, truth / 4) for guess, truth in zip(guesses[1:4], truths[1:4], strict=True))


@given(st.floats(0.0, 1.0), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_the_share_of_errors_is_the_one_injected(error: float, seed: int) -> None:
    lengths = AnswerLengths(error, random.Random(seed), lambda turn: 500.0)
    wrong = sum(lengths.predict(Turn(f'{number}', 1, 10, 10_000)) != 500.0 for number in range(400))
    assert abs(wrong / 400 - error) < 0.14  # over five standard deviations


def test_one_turn_is_predicted_once_however_often_it_is_asked_about() -> None:
    lengths = AnswerLengths(0.5, random.Random(3), lambda turn: 500.0)
    assert all(len({lengths.predict(Turn('ann', number, 10, 10_000)) for _ in range(9)}) == 1 for number in range(50))


def test_no_prediction_is_beyond_what_may_be_answered_nor_below_a_token() -> None:
    lengths = AnswerLengths(0.0, random.Random(), lambda turn: float(turn.prompt))
    assert lengths.predict(Turn('ann', 1, 900, 50)) == 50
    assert lengths.predict(Turn('ann', 2, 0, 50)) == 1


def test_without_an_oracle_a_conversation_teaches_its_own_mean() -> None:
    lengths = AnswerLengths(0.0, random.Random(), None)
    assert lengths.predict(Turn('ann', 1, 10, 1000)) == USUAL
    for number in range(1, 40):
        lengths.learn(Turn('ann', number, 10, 1000), 200)
        lengths.learn(Turn('bob', number, 10, 1000), 20)
    assert lengths.predict(Turn('ann', 40, 10, 1000)) == pytest.approx(200, abs=1)
    assert lengths.predict(Turn('bob', 40, 10, 1000)) == pytest.approx(20, abs=1)
    assert 20 < lengths.predict(Turn('new', 1, 10, 1000)) < 200


def test_answers_under_way_are_counted_where_they_are() -> None:
    lengths = AnswerLengths(0.0, random.Random(), lambda turn: float(turn.prompt))
    for name, length in (('ann', 100), ('bob', 300)):
        turn = Turn(name, 1, length, 1000)
        lengths.predict(turn)
        lengths.placed(turn, 'a')
    assert lengths.under_way('a', besides='') == 200
    assert lengths.under_way('a', besides='ann') == 300
    lengths.placed(Turn('bob', 1, 300, 1000), 'b')  # placed anew
    assert lengths.under_way('a', besides='') == 100
    lengths.learn(Turn('ann', 1, 100, 1000), 100)
    lengths.forget('bob')
    assert lengths.under_way('a', besides='') == lengths.under_way('b', besides='') == pytest.approx(USUAL, rel=0.05)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_lengths, 'KEPT', 5)
    lengths = AnswerLengths(0.0, random.Random(), None)
    for number in range(50):
        turn = Turn(f'{number}', 1, 10, 100)
        lengths.predict(turn)
        lengths.placed(turn, 'a')
    assert len(lengths._known) == lengths._count['a'] == 5
