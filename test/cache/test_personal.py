"""What visitors say about themselves, by examples of ours for every line, and what only sounds like it."""
from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros import packaged
from pace_ros.cache.patterns import PatternLists
from pace_ros.cache.personal import Personal
from pace_ros.llm import Exchange
from pace_ros.retrieval.files import read_knowledge

LEXICONS = packaged.config_dir() / 'lexicon'

# By language and section, at least one text that is decided by each line.
EXAMPLES: dict[str, dict[str, tuple[str, ...]]] = {
    'en': {
        'address': (
            'Of course, Mr. Lee.', 'With your budget of 200,000 the Lark fits.', 'Since you have kids, take the Bison.',
            'Nice to meet you!', 'I am Dr. Wong',
        ),
        'name': (
            'Hello, my name is Anna.', 'Call me Tom', 'Please reserve it under the name Weber', "I'm Anna",
            'Anna Lee speaking', 'I am Anna Lee', 'This is Tom by the way',
        ),
        'contact': (
            'Send it to anna@example.org', 'It is anna at example dot org', 'My number: +86 138 0000 0000',
            'five five five zero one two three', 'My phone number is the usual one', 'You can reach me at the office',
        ),
        'number': (
            'My budget is limited', 'I have about 200,000 dollars', 'We can spend thirty thousand', "I'm 45",
            "I'm almost two meters tall", 'My licence plate is new', 'I drive 80 km a day', 'I am 1.9 m tall',
        ),
        'plan': (
            "I'm planning to buy a car", 'We want to buy one in May', "I'll pick it up after work",
            'My wedding is soon',
        ),
        'family': (
            'My wife has a bad back', 'I have two kids', "I'm retired", 'There are five of us', 'We have a dog',
        ),
        'belongings': (
            'I live in the mountains', 'My old car is a diesel', 'I drive a Tesla', "I've got a trailer",
            "I've got a bad back",
            'I have already ordered', 'My office is far away',
        ),
        'nothing': ("I'm interested in the Lark", "I'm just looking", 'I am curious'),
    },
    'zh': {
        'address': ('王先生，您好！', '我是陈先生', '很高兴认识您！', '按您的预算在二十万左右，云雀合适。'),
        'name': ('我叫王芳', '我姓李', '免贵姓张', '我是老张', '叫我小王就行'),
        'contact': ('发到 wang@example.cn', '我的电话是13800000000', '一三八零零零零零零零零', '我的微信号是老名字'),
        'number': ('我的预算是二十万', '预算不超过15万', '我今年四十岁', '我身高有点高，身高有1米9', '京a12345',
            '我每天通勤六十公里',
                   '我体重是两百斤'),
        'plan': ('我打算买辆车', '我们下个月结婚', '我马上要搬家', '给老婆买的'),
        'family': ('我家五口人', '我老婆喜欢红色', '我们结婚了', '我有两个孩子', '全家一共六口人'),
        'belongings': ('我住在海边', '我开的是特斯拉', '我那辆车开了十年', '我有自己的车位', '我腰不好'),
    },
}


@pytest.fixture(scope='module')
def personal() -> Personal:
    return Personal.read(LEXICONS)


@pytest.mark.parametrize(('text', 'locale', 'section'), [
    (text, tongue, section) for tongue, sections in EXAMPLES.items() for section, texts in sections.items()
    for text in texts])
def test_a_text_discloses_what_its_section_says(personal: Personal, text: str, locale: str, section: str) -> None:
    why = personal.disclosed(text, locale)
    assert why.split(',')[0] == ('' if section == 'nothing' else section)
    assert text not in why


@pytest.mark.parametrize(('text', 'locale', 'section'), [
    ("Hi I'm John and I need a car", 'en', 'name'), ("I've got a budget of around twenty thousand", 'en', 'number'),
    ('Which car for my three kids?', 'en', 'family'), ('I commute 60 km', 'en', 'number'),
    ('im 67 is financing possible', 'en', 'number'), ('We are expecting a baby in June', 'en', 'plan'),
    ('I live in an apartment, can I charge?', 'en', 'belongings'), ("I'm allergic to leather", 'en', 'family'),
    ('我在北京上班，每天开一百公里', 'zh', 'belongings'), ('我媳妇不喜欢白色', 'zh', 'family'),
    ('我预算二十万左右', 'zh', 'number'),
    ('我孩子晕车', 'zh', 'family'), ('我个子高坐得下吗', 'zh', 'number'), ('鄙人姓赵', 'zh', 'name'),
    ('我打算五一提车', 'zh', 'plan'), ('我六十五岁能贷款吗', 'zh', 'number'),
])
def test_disclosed_in_passing(personal: Personal, text: str, locale: str, section: str) -> None:
    assert personal.disclosed(text, locale).split(',')[0] == section


@pytest.mark.parametrize('locale', ['en', 'zh'])
def test_every_line_decides_an_example(locale: str) -> None:
    lists = PatternLists.read(LEXICONS, 'personal')
    found = [lists.find(text, locale) for texts in EXAMPLES[locale].values() for text in texts]
    path = LEXICONS / f'personal.{locale}.txt'
    written = {number for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), start=1)
               if line and not re.match(r'#|\[[a-z]+\]$', line)}
    assert {line.number for line in found if line is not None} == written


@pytest.mark.parametrize(('text', 'locale'), [
    ('Can I pay by card?', 'en'), ('How far can I drive?', 'en'), ('Do I need my license for a test drive?', 'en'),
    ('Can I bring my dog?', 'en'), ('What documents do I need?', 'en'), ("I'd like to know about the Lark", 'en'),
    ('I want a red car', 'en'), ('Can I drive the Bison off-road?', 'en'), ('Will it fit in my garage?', 'en'),
    ('What would I pay for a Lark each month?', 'en'), ('I prefer electric cars', 'en'), ('I am interested', 'en'),
    ('How many child seats can I fit?', 'en'), ('Can I take a test drive on Saturday?', 'en'),
    ('Can I leave my dog in the car?', 'en'), ('Does the warranty cover 160,000 km?', 'en'),
    ('我可以试驾吗？', 'zh'), ('我能刷卡吗？', 'zh'), ('我想了解一下云雀', 'zh'), ('我要带什么证件？', 'zh'),
    ('家里能装充电桩吗？', 'zh'), ('我喜欢红色', 'zh'), ('我想试驾苍鹭', 'zh'), ('二十万以内有什么车？', 'zh'),
    ('我该选租赁还是贷款？', 'zh'), ('孩子坐后排安全吗？', 'zh'), ('我的旧车能置换吗？', 'zh'),
    ('一年开两万公里划算吗？', 'zh'),
])
def test_the_first_person_alone_discloses_nothing(personal: Personal, text: str, locale: str) -> None:
    assert personal.disclosed(text, locale) == ''


def test_few_of_the_showrooms_questions_sound_personal(personal: Personal) -> None:
    said = [bool(personal.disclosed(text, tongue)) for entry in read_knowledge([packaged.config_dir() / 'knowledge'])
            for tongue, texts in entry.questions.items() for text in texts]
    assert sum(said) <= 0.005 * len(said)


@pytest.mark.parametrize(('question', 'answer', 'history', 'why'), [
    ('Which car fits? My budget is small.', 'The Lark.', (), 'number'),
    ('Which car fits?', 'The Lark.', (('Hi, I am Anna', 'Hello!'),), 'name'),
    ('Which car fits?', 'The Lark.', (('Hello', 'May I ask your name?'), ('Anna Lee Smith', 'Hello!')), 'told'),
    ('哪款车合适？', '云雀。', (('我家五口人', '好的。'), ('谢谢', '不客气。')), 'family'),
    ('哪款车合适？', '云雀。', (('你好', '请问您贵姓？'), ('王', '您好！')), 'told'),
    ('老王', '您好！', (('你好', '怎么称呼您呢？'),), 'told'),
    ('Which car fits?', 'The Bison, Mrs. Lee.', (), 'address'),
    ('哪款车合适？', '王女士，北野最合适。', (), 'address'),
])
def test_why_an_answer_is_for_one_visitor_only(
    personal: Personal, question: str, answer: str, history: tuple[tuple[str, str], ...], why: str
) -> None:
    told = personal.in_conversation(question, answer, [Exchange(*each) for each in history])
    assert told.startswith(why)


@pytest.mark.parametrize(('question', 'answer', 'history'), [
    ('Can I pay by card?', 'You can pay by card, and my name is Pace.', ()),
    ('Yes please', 'The Lark goes far.', (('Hello', 'Would you like to hear about the Lark?'),)),
    ('How long is the warranty?', 'Five years.', (('Hello', 'What would you like to know?'),)),
    ('可以刷卡吗？', '可以，您的车也能分期。', (('你好', '想了解哪款车？'), ('质保多久？', '五年。'))),
    ('好的', '云雀续航很长。', (('你好', '要我介绍云雀吗？'),)),
])
def test_an_answer_is_for_all_where_nobody_spoke_of_themselves(
    personal: Personal, question: str, answer: str, history: tuple[tuple[str, str], ...]
) -> None:
    assert personal.in_conversation(question, answer, [Exchange(*each) for each in history]) == ''


@given(st.text(max_size=40), st.text(max_size=40), st.lists(st.builds(Exchange, st.text(max_size=40),
st.text(max_size=40))))
def test_what_was_disclosed_once_holds_for_the_whole_conversation(
    question: str, answer: str, history: list[Exchange]
) -> None:
    assert _PERSONAL.in_conversation(question, answer, [Exchange('My name is Anna.', 'Hello!'), *history])
    assert _PERSONAL.in_conversation(question, answer, [*history, Exchange('我叫王芳', '您好！')])


_PERSONAL = Personal.read(LEXICONS)
