"""Visits in the robot's own prompts."""
from __future__ import annotations

import pytest

from pace_ros.language import count_tokens
from pace_ros.llm import PromptBook
from pace_ros.places import or_packaged
from pace_ros.retrieval import KnowledgeEntry
from pace_ros.serving.simulator.script import WorkloadError
from pace_ros.serving.simulator.workloads.showroom import Visitors, showroom
from pace_ros.study.datasets import DataSet, Question

ANSWER = 'It is eight thousand.'
QUESTIONS = tuple(
    Question(f'q{number}', f'What is the price of model {number}?', 'en', f'm{number}', ANSWER, topic='price',
             sources=('one',)) for number in range(9))
KNOWLEDGE = tuple(KnowledgeEntry(name, {}, {'en': f'{name}: ' + 'Something long about a price. ' * 5}, topic='price')
                  for name in ('one', 'two', 'three'))


@pytest.fixture(scope='module')
def book() -> PromptBook:
    return PromptBook.read(or_packaged('', 'persona.yaml'))


def test_appended_passages_leave_the_prompt_growing(book: PromptBook) -> None:
    data = DataSet('d', '1', QUESTIONS, knowledge=KNOWLEDGE)
    scripts = showroom(data, book, 20, seed=1, visitors=Visitors(history=50, turns=4.0))
    assert len({each.key for each in scripts}) == 20
    for script in scripts:
        for before, turn in zip(script.turns, script.turns[1:], strict=False):
            assert turn.shared == before.prompt + before.answer
            assert turn.answer == count_tokens(ANSWER)
            assert turn.think >= before.answer * 0.25
    assert any(len(each.turns) > 1 for each in scripts)
    assert showroom(data, book, 20, seed=1, visitors=Visitors(history=50, turns=4.0)) == scripts


def test_visits_of_one_language_open_with_the_persona(book: PromptBook) -> None:
    one, other = showroom(DataSet('d', '1', QUESTIONS, knowledge=KNOWLEDGE), book, 2, seed=1)
    persona = book.messages('', 'en', passages=(), history=(), persona=True)[0]['content']
    assert one.family == other.family == 'en'
    assert one.in_common(other) == count_tokens(persona) > 20
    assert one.in_common(other) < one.turns[0].prompt


def test_passages_in_front_leave_the_persona_alone(book: PromptBook) -> None:
    """The passages come in another order, and after the persona nothing is where it was."""
    data = DataSet('d', '1', QUESTIONS, knowledge=KNOWLEDGE)
    scripts = showroom(data, book, 20, seed=1, visitors=Visitors(layout='front', passages=3))
    persona = book.messages('', 'en', passages=(), history=(), persona=True)[0]['content']
    shared = [turn.shared for script in scripts for turn in script.turns[1:]]
    assert min(shared) >= count_tokens(persona)
    assert min(shared) < count_tokens(persona) + count_tokens(KNOWLEDGE[0].answers['en']) * 2


def test_nothing_to_ask_is_refused(book: PromptBook) -> None:
    with pytest.raises(WorkloadError, match='empty'):
        showroom(DataSet('empty', '1', ()), book, 1, seed=1)
