from __future__ import annotations

import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.facts import FactExtractor
from pace_ros.packaged import MissingPackage, config_dir
from pace_ros.retrieval.files import read_knowledge
from pace_ros.study.carqa import CarQAError
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.datasets.registry import load
from pace_ros.study.datasets.world import World
from pace_ros.study.judging.reference import ReferenceJudge, Verdict

LOCALES = {'zh': 'zh-CN', 'en': 'en-US'}
OPENERS = {
    'zh': ('', '您好，很高兴为您介绍。', '好的，这个问题我来回答您。', '感谢您的提问！'),
    'en': ('', 'Happy to help! ', 'Great question. ', 'Thank you for asking. '),
}
CLOSERS = {'zh': ('', '还有什么想了解的吗？'), 'en': ('', ' Is there anything else you would like to know?')}
NUMBER = re.compile(r'\d[\d,.]*\d|\d')


def asked(text: str, answer: str, locale: str = 'en-US', *accepted: str) -> Question:
    return Question('q', text, locale, 'm', answer, accepted=accepted)


def showroom() -> list[Question]:
    return [
        Question(f'{entry.entry_id}-{language}-{place}', text, LOCALES[language], entry.entry_id,
                 entry.answers[language])
        for entry in read_knowledge([config_dir() / 'knowledge'])
        for language in LOCALES for place, text in enumerate(entry.questions[language])
    ]


SHOWROOM = showroom()


@pytest.fixture(scope='module')
def judge() -> ReferenceJudge:
    folder = config_dir()
    return ReferenceJudge(FactExtractor.read(folder / 'names.yaml', folder / 'antonyms.yaml'))


def by(judge: ReferenceJudge, answer: str, question: Question, *later: str) -> Verdict:
    return judge.verdict(answer, question, [question.answer, *later])


PRICE = asked('How much is the Lark Core?', 'The Lark Core is currently listed at 99,800 yuan.')
WARRANTY = asked('整车质保几年？', '整车质保是5年或者12万公里，先到为准。', 'zh-CN')
RATE = asked('贷款利率是多少？', '目前年利率是3.5%。', 'zh-CN')
LAST_DAY = asked('优惠到什么时候？', '优惠到2027年6月30日为止。', 'zh-CN')
TOW = asked('Can the Lark tow a trailer?', "No, the Lark can't tow a trailer.")
TIRES = asked('How do I wash the car?', 'Use mild soap and a soft sponge, and rinse the brakes gently.')


@pytest.mark.parametrize(('answer', 'question', 'correct', 'quality'), [
    ('The Lark Core is currently listed at 99,800 yuan.', PRICE, True, 5),
    ('99,800 yuan.', PRICE, True, 5),
    ('It costs 99.8 thousand yuan.', PRICE, True, 5),
    ('云雀标准版目前是9.98万元。', PRICE, True, 3),  # right, but in another language
    ('The Lark Core is 99,800 yuan, and the Max is 129,800.', PRICE, True, 4),  # further facts
    ('It costs 105,000 yuan.', PRICE, False, 2),
    ('The Lark Max is listed at 99,800 yuan.', PRICE, False, 2),  # of another product
    ("I'm sorry, I don't know the price.", PRICE, False, 3),
    ('I am sorry, I cannot answer that right now. Please ask one of my colleagues here.', PRICE, False, 1),
    ('The weather is lovely in the mountains.', PRICE, False, 1),
    ('', PRICE, False, 1),
    (' \n', PRICE, False, 1),
    ('质保五年或者十二万公里。', WARRANTY, True, 5),
    ('整车质保是5年。', WARRANTY, False, 3),  # a part of it
    ('质保8年或者16万公里。', WARRANTY, False, 2),
    ('抱歉，这个问题我现在答不上来，请您问问旁边的展厅顾问，好吗？', WARRANTY, False, 1),
    ('这个我不太清楚，请您问问顾问。', WARRANTY, False, 3),
    ('年利率百分之3.5。', RATE, True, 5),
    ('年利率是百分之三点五。', RATE, True, 5),
    ('年利率是3.9%。', RATE, False, 2),
    ('6月30日截止。', LAST_DAY, True, 5),  # the year of a full date may go unsaid
    ('优惠到6月份。', LAST_DAY, False, 3),
    ('到2027年7月31日为止。', LAST_DAY, False, 2),
    ("No, towing a trailer isn't possible with the Lark.", TOW, True, 5),
    ('Yes, the Lark can tow a trailer.', TOW, False, 2),
    ('A soft sponge with mild soap; rinse the brakes gently.', TIRES, True, 5),
    ('Just drive through any automatic wash.', TIRES, False, 1),
])
def test_known_verdicts(judge: ReferenceJudge, answer: str, question: Question, correct: bool, quality: int) -> None:
    verdict = by(judge, answer, question)
    assert (verdict.correct, verdict.stale, verdict.quality) == (correct, False, quality), verdict.why


def test_padding_is_right_but_not_to_the_point(judge: ReferenceJudge) -> None:
    padding = ' It is a lovely small car that many of our visitors enjoy, and it is made with great care.' * 3
    assert by(judge, PRICE.answer + padding, PRICE).quality == 4


def test_stale_is_right_by_a_former_edition_only(judge: ReferenceJudge) -> None:
    new = 'The Lark Core is currently listed at 105,000 yuan.'
    assert by(judge, PRICE.answer, PRICE, new) == Verdict(False, True, 2, 'right by edition 1 of 2')
    assert by(judge, new, PRICE, new).correct
    assert not by(judge, '101,000 yuan.', PRICE, new).stale
    assert by(judge, PRICE.answer, PRICE, new, PRICE.answer).correct  # it changed back


def test_a_fact_of_the_question_need_not_be_repeated_and_must_not_be_changed(judge: ReferenceJudge) -> None:
    question = asked('How fast is the Heron Max from 0 to 100 km/h?', 'The Heron Max does 100 km/h in 4.1 seconds.')
    assert by(judge, '4.1 seconds.', question).correct
    assert not by(judge, 'The Heron Max does 120 km/h in 4.1 seconds.', question).correct


def test_the_same_number_said_of_something_else_is_off_the_point(judge: ReferenceJudge) -> None:
    question = asked('How long does a test drive last?', 'It takes about 30 minutes, through the city and back.')
    verdict = by(judge, 'Bring your old car in for an appraisal, the paperwork is done within 30 minutes.', question)
    assert (verdict.correct, verdict.quality) == (False, 1)


def test_accepted_texts_decide_where_there_are_some(judge: ReferenceJudge) -> None:
    question = asked('When did it end?', '1998', 'en-US', '1998', 'the late nineties')
    assert by(judge, 'It ended in 1998.', question).correct
    assert by(judge, 'In The  Late Nineties!', question).correct
    assert not by(judge, 'It ended in 19981.', question).correct
    assert not by(judge, 'In 1997.', question).correct
    assert not by(judge, '1998', question, '2004').correct  # after a change they are those of a former edition
    assert by(judge, '1998', question, '2004').stale


@settings(max_examples=150, deadline=None)
@given(question=st.sampled_from(SHOWROOM), data=st.data())
def test_courtesy_keeps_a_reference_right(judge: ReferenceJudge, question: Question, data: st.DataObject) -> None:
    language = question.locale[:2]
    opened = data.draw(st.sampled_from(OPENERS[language])) + question.answer
    assert by(judge, opened + data.draw(st.sampled_from(CLOSERS[language])), question).correct


def test_every_reference_is_right_and_to_the_point(judge: ReferenceJudge) -> None:
    assert not [each.question_id for each in SHOWROOM if by(judge, each.answer, each).quality != 5]


def test_every_altered_number_is_wrong(judge: ReferenceJudge) -> None:
    right = [
        (each.question_id, number) for each in SHOWROOM for number in sorted(set(NUMBER.findall(each.answer)))
        if by(judge, with_other(each.answer, number), each).correct
    ]
    assert not right


def test_every_former_edition_is_stale(judge: ReferenceJudge) -> None:
    fresh = [
        (each.question_id, number) for each in SHOWROOM for number in sorted(set(NUMBER.findall(each.answer)))
        if not by(judge, each.answer, each, with_other(each.answer, number)).stale
    ]
    assert not fresh


def test_an_answer_that_tells_of_the_change_is_right(judge: ReferenceJudge) -> None:
    new = 'The Lark Core is currently listed at 105,000 yuan.'
    assert by(judge, 'It was 99,800 yuan, and it is 105,000 yuan now.', PRICE, new).correct


def with_other(text: str, number: str) -> str:
    """Another number wherever this one stands: a year one later, others by more than a tenth."""
    value = float(number.replace(',', ''))
    other = value + 1 if value == 2027 else value + 7 if value < 60 else value + value // 10 + 1
    written = f'{other:,.0f}' if ',' in number else f'{other:g}' if '.' in number else f'{other:.0f}'
    return re.sub(rf'(?<![\d.,]){re.escape(number)}(?!\d|[.,]\d)', written, text)


def test_it_is_fast(judge: ReferenceJudge) -> None:
    begin = time.perf_counter()
    for each in SHOWROOM:
        by(judge, f'{each.answer} ', each)
    assert (time.perf_counter() - begin) / len(SHOWROOM) < 0.005  # s; typically 0.0003


CARQA = ('carqa', 'carqa-volatile')


@pytest.fixture(scope='module', params=CARQA)
def carqa(request: pytest.FixtureRequest) -> DataSet:
    try:
        return load(request.param)
    except (CarQAError, MissingPackage) as error:
        pytest.skip(f'CarQA is not there: {error}')


@pytest.fixture(scope='module')
def carqa_judge(carqa: DataSet) -> ReferenceJudge:
    folder = config_dir()
    return ReferenceJudge(FactExtractor.read(carqa.names_file or folder / 'names.yaml', folder / 'antonyms.yaml'))


def test_every_reference_of_carqa_is_right_and_to_the_point(carqa: DataSet, carqa_judge: ReferenceJudge) -> None:
    questions = (*carqa.seeds, *carqa.paraphrases)
    assert not [each.question_id for each in questions if by(carqa_judge, each.answer, each).quality != 5]


def test_every_other_meaning_of_carqa_is_wrong(carqa: DataSet, carqa_judge: ReferenceJudge) -> None:
    """But for a few that state the fact, too: the price that includes the 6 speakers."""
    draw = random.Random(1)
    pairs = [
        (each, other) for each in draw.sample((*carqa.seeds, *carqa.paraphrases), 200)
        for other in draw.sample(carqa.seeds, 10) if each.meaning != other.meaning and each.locale == other.locale
    ]
    taken = [(each.text, other.answer) for each, other in pairs if by(carqa_judge, other.answer, each).correct]
    assert len(taken) <= len(pairs) / 100, taken


def test_every_change_of_carqa_makes_the_former_answer_stale(carqa: DataSet, carqa_judge: ReferenceJudge) -> None:
    world = World(carqa)
    asked = {(each.meaning, each.locale[:2]): each for each in carqa.seeds}
    for change in carqa.changes:
        for language in change.answers:
            question = asked[change.meaning, language]
            former = world.answer(question)
            now = (*world.editions(question), change.answers[language])
            assert carqa_judge.verdict(former, question, now).stale, (former, change)
            assert carqa_judge.verdict(now[-1], question, now).correct, change
        world.apply(change)
