from __future__ import annotations

import pytest
from study_clouds import COLOUR, DATA, KNOWLEDGE, PRICE, QUESTIONS, RANGE, RANGE_EN, YEAR

from pace_ros.facts import FactExtractor
from pace_ros.places import or_packaged
from pace_ros.study.cloud import Answers, CloudSettings, texts_of
from pace_ros.study.cloud.answers import OPENERS, UNKNOWN, UNSURE
from pace_ros.study.datasets.question import Change, DataSet, Question
from pace_ros.study.datasets.world import World

SURE = CloudSettings(knows=0.0, admits=0.0)


def said(question: Question | str, shown: str = '', settings: CloudSettings = SURE, *, world: World | None = None,
         seed: int = 0, chance: float = 0.0, data: DataSet = DATA) -> str:
    text = question if isinstance(question, str) else question.text
    messages = [{'role': 'system', 'content': f'你是机器人。\n{shown}'}, {'role': 'user', 'content': '你好'},
                {'role': 'assistant', 'content': '您好'}, {'role': 'user', 'content': text}]
    return Answers(data, world or World(data)).reply(messages, settings, seed=seed, chance=chance)


def shown(question: Question) -> str:
    return '\n'.join(f'- {text}' for text in texts_of(KNOWLEDGE)[question.sources[0]])


@pytest.mark.parametrize('question', QUESTIONS, ids=lambda each: each.question_id)
def test_shown_the_passage_it_tells_the_truth(question: Question) -> None:
    answer = said(question, shown(question))
    assert answer.startswith(question.answer)
    assert answer[-1] in '。.'


@pytest.mark.parametrize('question', [RANGE, RANGE_EN, COLOUR, YEAR], ids=lambda each: each.question_id)
def test_without_it_what_it_says_is_wrong(question: Question) -> None:
    for seed in range(10):
        answer = said(question, shown(PRICE), seed=seed)
        assert question.answer not in answer
        assert not any(each in answer for each in question.accepted)
        assert answer not in (*UNSURE.values(), *UNKNOWN.values())


def test_numbers_are_what_it_gets_wrong() -> None:
    assert said(RANGE) == '云雀满电可以跑705公里。'
    assert said(RANGE_EN) == 'The Lark goes 705 km on one charge.'


def test_where_it_admits_ignorance_it_does() -> None:
    ignorant = SURE.changed(admits=1.0)
    assert (said(RANGE, settings=ignorant), said(RANGE_EN, settings=ignorant)) == (UNSURE['zh'], UNSURE['en'])


def test_it_looks_live_facts_up() -> None:
    world = World(DATA)
    world.apply(Change(1, 'price', {'zh': '云雀的官方指导价是189800元。'}))
    assert said(PRICE, world=world) == '云雀的官方指导价是189800元。'
    offline = SURE.changed(live_facts=False)
    assert said(PRICE, shown(PRICE), offline, world=world) == PRICE.answer  # as the passage states it
    assert said(PRICE, '- 云雀的官方指导价是189800元。', offline, world=world) == '云雀的官方指导价是189800元。'
    assert said(PRICE, settings=offline.changed(knows=1.0), world=world) == PRICE.answer  # as it learnt it


def test_it_knows_its_share_of_the_meanings_and_always_the_same() -> None:
    seeds = tuple(Question(f'q{n}', f'第{n}辆能跑多远？', 'zh-CN', f'm{n}', f'能跑{500 + n}公里。') for n in range(400))
    data = DataSet('many', '1', seeds)
    answers = Answers(data, World(data))
    settings = CloudSettings(knows=0.15, admits=0.4)

    def once(chance: float) -> list[str]:
        return [answers.reply([{'role': 'user', 'content': each.text}], settings, seed=1, chance=chance)
                for each in seeds]

    told = once(0.0)
    right = [each.answer == answer for each, answer in zip(seeds, told, strict=True)]
    assert 0.10 < sum(right) / 400 < 0.20  # a binomial of 400 at 0.15
    assert 0.30 < told.count(UNSURE['zh']) / (400 - sum(right)) < 0.50
    again = once(0.5)
    assert [each.answer in answer for each, answer in zip(seeds, again, strict=True)] == right


def test_to_what_it_does_not_understand_it_is_polite() -> None:
    assert said('今天天气怎么样？') == UNKNOWN['zh']
    assert said('Will it rain?') == UNKNOWN['en']


def test_wordings_keep_all_facts() -> None:
    facts = FactExtractor.read(or_packaged('', 'names.yaml'), or_packaged('', 'antonyms.yaml'))
    for question in QUESTIONS:
        tongue = question.locale[:2]
        spoken = {said(question, shown(question), chance=number / 50) for number in range(50)}
        assert len(spoken) == len(OPENERS[tongue]) * 4  # of five closers two are none
        for answer in spoken:
            assert facts.facts(answer, question.locale) == facts.facts(question.answer, question.locale)


def test_untruths_differ_in_a_fact() -> None:
    facts = FactExtractor.read(or_packaged('', 'names.yaml'), or_packaged('', 'antonyms.yaml'))
    for question in (RANGE, RANGE_EN, YEAR):
        assert facts.conflict(said(question), question.answer, question.locale)
