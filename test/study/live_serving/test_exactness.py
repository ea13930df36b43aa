from __future__ import annotations

from pace_ros.study.live_serving.exactness import Told, told_of


def test_what_llama_cpp_answers_is_read() -> None:
    told = told_of({
        'choices': [{'message': {'content': 'Hi.'}, 'logprobs': {'content': [{'logprob': -0.5}, {'logprob': -1.0}]}}],
        'timings': {'prompt_n': 1},
    })
    assert told == Told('Hi.', (-0.5, -1.0), 1)
    assert told_of({'choices': [{'message': {'content': None}}], 'timings': {'prompt_n': 9}}) == Told('', (), 9)


def test_distance_by_hand() -> None:
    assert Told('a', (-0.5, -1.0), 1).furthest(Told('a', (-0.5, -1.25, -3.0), 9)) == 0.25
    assert Told('a', (-0.5,), 1).furthest(Told('a', (-0.5,), 1)) == 0.0
    assert Told('a', (), 1).furthest(Told('b', (-1.0,), 1)) == 0.0
