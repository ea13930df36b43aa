"""Wordings told apart, and what the robot is given to know."""
from __future__ import annotations

import pytest

from pace_ros.study.datasets.compose import Item, compose, passage
from pace_ros.study.datasets.question import Question
from pace_ros.study.datasets.rows import DataSetError


def item(meaning: int, text: str, *others: str, locale: str = 'en-US', source: str = '') -> Item:
    seed = Question(f'{meaning}-{locale}', text, locale, str(meaning), f'answer {meaning}', topic='t', volatile=True,
                    sources=(source,) if source else ())
    return Item(seed, tuple(('other', each) for each in others))


def test_every_second_meaning_may_be_answered_directly() -> None:
    data = compose('d', [item(number, f'question {number}') for number in range(10)])
    assert [each.entry_id for each in data.knowledge] == ['faq-0', 'faq-2', 'faq-4', 'faq-6', 'faq-8']
    first = data.knowledge[0]
    assert (first.questions, first.answers) == ({'en': ('question 0',)}, {'en': 'answer 0'})
    assert (first.topic, first.volatile) == ('t', True)
    assert [each.sources for each in data.seeds[:2]] == [('faq-0',), ()]


def test_a_meaning_in_two_languages_is_one_entry() -> None:
    data = compose('d', [item(0, 'how much'), item(1, 'where'), item(0, '多少钱', locale='zh-CN')])
    assert data.knowledge[0].questions == {'en': ('how much',), 'zh': ('多少钱',)}
    assert [(each.text, each.sources) for each in data.seeds] == [
        ('how much', ('faq-0',)), ('多少钱', ('faq-0',)), ('where', ())]


def test_passages_are_those_that_a_question_rests_on() -> None:
    passages = [passage('p', {'en': 'text'}), passage('unused', {'en': 'text'})]
    data = compose('d', [item(0, 'a', source='p'), item(1, 'b', source='p')], passages)
    assert [each.entry_id for each in data.knowledge] == ['faq-0', 'p']
    assert data.knowledge[1].is_passage
    assert data.seeds[0].sources == ('faq-0', 'p')


def test_paraphrases_of_the_file_are_kept_and_none_is_derived_beside_them() -> None:
    data = compose('d', [item(0, 'What is it?', 'what is that', 'what is it', 'WHAT IS THAT?')])
    assert [(each.text, each.kind, each.question_id) for each in data.paraphrases] == [
        ('what is that', 'other', '0-en-US/1')]


def test_without_any_light_ones_are_derived() -> None:
    data = compose('d', [item(0, 'What is it, then?')])
    assert {each.kind for each in data.paraphrases} == {'derived'}
    assert len(data.paraphrases) == 3
    assert {(each.meaning, each.answer) for each in data.paraphrases} == {('0', 'answer 0')}


def test_copies_of_the_question_are_no_paraphrases() -> None:
    data = compose('d', [item(0, 'What is it, then?', 'what is it, then', 'WHAT IS IT, THEN')])
    assert {each.kind for each in data.paraphrases} == {'derived'}


def test_words_that_two_questions_share_are_the_first_ones() -> None:
    data = compose('d', [item(0, 'where is it?'), item(1, 'Where is it'), item(2, 'b', 'where is it!', '?'),
                         item(3, 'c')])
    assert [each.text for each in data.seeds] == ['where is it?', 'b', 'c']
    assert not [each for each in data.paraphrases if each.kind == 'other']
    assert [each.entry_id for each in data.knowledge] == ['faq-0', 'faq-3']


def test_of_many_meanings_some_are_taken_evenly() -> None:
    data = compose('d', [item(number, f'q{number}') for number in range(100)], most=4)
    assert [each.meaning for each in data.seeds] == ['0', '25', '50', '75']


def test_the_version_tells_other_contents_apart() -> None:
    one, same, other = (compose('d', [item(0, text)]) for text in ('a', 'a', 'b'))
    assert one.version == same.version != other.version


def test_no_question_is_an_error() -> None:
    with pytest.raises(DataSetError, match="data set 'd': the files have no question"):
        compose('d', [])
