"""Spoken forms and recognition errors keep what is asked."""
from __future__ import annotations

import random

import pytest

from pace_ros.study.carqa.noise import noisy
from pace_ros.study.carqa.spoken import spoken


@pytest.mark.parametrize(('template', 'language'), [('{x}车长多少？', 'zh'), ('How long is the {x}?', 'en')])
def test_spoken_forms_differ_and_keep_the_name(template: str, language: str) -> None:
    forms = {spoken(template, language, random.Random(seed), thing=True, direct=True) for seed in range(100)}
    assert len(forms) > 15
    assert all(form.count('{x}') == 1 for form in forms)


def test_a_statement_gets_no_tag_and_no_asking_opening() -> None:
    forms = {spoken("I'd like to know how long the {x} is", 'en', random.Random(seed), thing=False, direct=False)
             for seed in range(100)}
    assert not any('?' in form or 'wondering' in form for form in forms)


def test_an_opening_lowers_the_first_letter_but_not_i() -> None:
    forms = {spoken('What is it?', 'en', random.Random(seed), thing=False, direct=True) for seed in range(60)}
    assert 'Um, what is it?' in forms
    assert any(form.endswith('I want it') for form in {
        spoken('I want it', 'en', random.Random(seed), thing=False, direct=False) for seed in range(20)
    })


def test_noise_keeps_numbers_and_drops_punctuation() -> None:
    for seed in range(50):
        heard = noisy('Hi, is it 7.5 hours or 1,200 kilometers?', 'en', random.Random(seed))
        assert '7.5' in heard
        assert '1,200' in heard
        assert '?' not in heard


def test_chinese_noise_hears_homophones() -> None:
    assert noisy('水獭质保多久？', 'zh', random.Random(1)) != '水獭质保多久' or (
        any(noisy('水獭质保多久？', 'zh', random.Random(seed)) == '水獭之保多久' for seed in range(20))
    )
