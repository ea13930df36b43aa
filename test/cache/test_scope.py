"""What a question means in its conversation: examples of ours for every line of the lists, rule by rule."""
from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros import packaged
from pace_ros.cache.patterns import Line, PatternError, PatternLists
from pace_ros.cache.scope import Scope, ScopeReader, scope_of
from pace_ros.facts.names import ProductNames
from pace_ros.llm import Exchange
from pace_ros.retrieval.files import read_knowledge

LEXICONS = packaged.config_dir() / 'lexicon'
LARK, HERON, MAX = ('model', 'lark'), ('model', 'heron'), ('trim', 'max')

# By list, language and section, at least one utterance that is decided by each line.
EXAMPLES: dict[str, dict[str, dict[str, tuple[str, ...]]]] = {
    'exchange': {
        'en': {
            'switch': (
                'What about the Heron?', 'And how about insurance?', 'And in red?', 'And the Heron?',
                'Or with a trailer?',
                'And then?', 'And winter?', 'The same question for the Bison', 'Same for the trunk',
            ),
            'other': (
                'And what does the other cost?', 'Do you have another one?', 'Is the second one cheaper?',
                'The former', 'The second, please', 'Which of the two is bigger?', 'Which one is cheaper?',
                'Are both of them electric?', 'How do the two differ?', 'Can I drive one today?',
                'What is the difference?',
            ),
            'scene': ('Is this the Heron?', 'What is that?', "Who's she? The one over there"),
            'compared': (
                'Is it faster than the Heron?', 'How does it compare with the Heron?', 'Compared to the Bison?',
                'Is the Heron bigger than this?',
            ),
            'also': (
                'Does the Heron have it?', 'Does the Heron?', 'Is it standard on the Heron?',
                'How much is it for the Heron?', 'Does it come with the Heron?', 'Is the Lark electric as well?',
            ),
            'again': (
                'Can you repeat that?', 'Pardon?', "Sorry, I didn't catch that", 'What do you mean?', 'Speak up',
            ),
            'why': ('Why?', 'But why not?', 'Really?', 'Since when?', 'How often?', 'Like what?'),
            'more': ('Tell me more', 'More details please', 'Go on', "What's next?", 'What else?', 'For example?'),
            'assent': ('Yes please', 'No, thank you.', 'OK', 'Sounds good', 'Yes, I would love to hear it'),
            'memory': (
                'Did you say five years?', 'You mentioned a heat pump', "What's my name?", 'As I said, five',
                'Do you know who I am?', 'Was it cheaper last time?',
            ),
            'that': (
                "That's a lot", 'What does that cost?', 'Is that included?', 'Do you sell tyres for that car brand?',
                'How much is that?', 'Could you check it for me?', 'How do I get there?',
                'How much are these going to be?',
                'How much is that altogether?',
            ),
            'whole': (
                'Tell me about the Lark', "I'm interested in the Heron", 'What is the Bison like?',
                'How big is the Lark?',
                'How far does it go?', 'Is the Lark fast?',
            ),
            'asks': (
                'What happens to old batteries?', 'Where is the exit?', 'Electric?', 'Hey there',
                'Is there a loaner car?', 'Show me the way to the restrooms',
                'I want to know the loan terms', 'For the big family dogs we own do you have a cover?', 'Top speed?',
            ),
            'fragment': ('Is the Heron bigger?', 'How much more is the Heron?', 'What are the exceptions?',
                         'Five people', 'Because we go to the mountains every winter with skis'),
        },
        'zh': {
            'asks': (
                '你们几点开门呢？', '你好', '续航呢？', '质保是多久？', '可以刷卡吗？', '麻烦介绍贷款的流程',
                '车身颜色告诉我', '最高时速',
                '云雀费不费电？',
            ),
            'switch': ('那苍鹭呢？', '红色的呢', '那如果换成顶配', '换成北野', '同样的问题'),
            'other': (
                '第二个多少钱？', '另一款怎么样？', '这两款有什么区别？', '哪个更好？', '都有', '有什么区别？',
                '另一辆',
            ),
            'scene': ('这是云雀吗？', '这是免费的吗？', '你旁边的是什么？'),
            'compared': ('它比苍鹭大吗？', '苍鹭比它贵吗？', '和苍鹭比怎么样？'),
            'also': ('苍鹭也有吗？', '云雀有吗？', '苍鹭有没有？', '它在云雀上能用吗？'),
            'again': ('再说一遍', '没听清', '请重复', '什么意思？', '意思是不用钱？'),
            'why': ('为什么？', '真的吗？', '什么时候？', '怎么申请？'),
            'more': ('再详细说说', '还有什么？', '有没有别的？', '说得详细些'),
            'assent': ('好的', '不用了，谢谢', '嗯，可以', '是的', '要'),
            'memory': ('你刚才说多少来着？', '我叫什么名字？', '你记得我吗？', '如你所说很安全', '您说的是真的'),
            'that': ('这个多少钱？', '那些是标配吗', '这算优惠吗', '那多少钱？', '那时候能提车吗？',
                '这种情况能赔吗？'),
            'whole': ('介绍一下云雀', '就订云雀吧', '我对北野感兴趣', '云雀怎么样？', '它能跑多远？', '苍鹭多大？'),
            'fragment': ('苍鹭更大吗？', '苍鹭贵多少？', '上一个问题再答一次', '五个人',
                         '因为我们每年冬天都去山里滑雪'),
        },
    },
    'subject': {
        'en': {
            'product': ('Does this car have lidar?', 'Are those models electric?', 'How big is the car I like?'),
            'itself': (
                'If the car is in stock, when can I pick it up?', 'Do you offer leasing, and how does it work?',
                'I want to order, how does it work?', 'Is it safe to charge at night?',
                'Is it expensive to replace the battery?', 'How long does it take to charge?',
                "It's better to charge slowly, right?", 'Can I charge when it rains?', 'What time is it?',
                'Do people plug in their phones?',
            ),
            'pronoun': (
                'Does it have a heat pump?', 'What seats does it have?', 'And do they serve tea?', 'Is it electric?',
                'How fast is it?', 'What is its top speed?', 'Range?', 'How many seats are there?', 'What colours?',
            ),
            'thing': ('How much is it?', 'Can I fold it?', 'Price?', 'How much?', 'Is it heated?',
                'Any versions available?', 'Optional?'),
            'house': (
                'Where are the restrooms?', 'When do you open?', 'Are you a robot?', 'Can I talk to a human?',
            ),
        },
        'zh': {
            'product': ('这款多少钱？', '那辆有现车吗？', '该车有天窗吗？', '这些车能上绿牌吗？', '酒店的地址在哪？',
                '他家几点关门？'),
            'itself': ('电池坏了它能换吗？',),
            'pronoun': ('它有没有天窗？', '续航呢？', '有什么颜色？'),
            'thing': ('它多少钱？', '多少钱？', '免费吗？', '多大？', '价格？', '能优惠吗？', '有红色的吗？'),
            'house': ('洗手间在哪？', '你们几点开门？', '你是谁？', '叫个真人来'),
        },
    },
}


def said(*texts: str) -> tuple[Exchange, ...]:
    """A conversation: question, answer, question, answer."""
    return tuple(Exchange(*pair) for pair in zip(texts[::2], texts[1::2], strict=True))


@pytest.fixture(scope='module')
def reader() -> ScopeReader:
    return ScopeReader.read(LEXICONS, ProductNames.read(packaged.config_dir() / 'names.yaml'))


@pytest.mark.parametrize(('text', 'locale', 'name', 'section'), [
    (text, tongue, name, section) for name, tongues in EXAMPLES.items() for tongue, sections in tongues.items()
    for section, texts in sections.items() for text in texts])
def test_an_utterance_is_of_its_kind(text: str, locale: str, name: str, section: str) -> None:
    found = PatternLists.read(LEXICONS, name).find(text, locale)
    assert found is not None
    assert found.section == section


@pytest.mark.parametrize('name', EXAMPLES)
@pytest.mark.parametrize('locale', ['en', 'zh'])
def test_every_line_decides_an_example(name: str, locale: str) -> None:
    lists = PatternLists.read(LEXICONS, name)
    decided = {lists.find(text, locale) for texts in EXAMPLES[name][locale].values() for text in texts}
    path = LEXICONS / f'{name}.{locale}.txt'
    written = {number for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), start=1)
               if line and not re.match(r'#|\[[a-z]+\]$', line)}
    assert {line.number for line in decided if isinstance(line, Line)} == written


# Rule 1: what leans on the exchange has no key, whatever the subject.

LEANS_ON_EXCHANGE = [
    (text, tongue) for tongue, sections in EXAMPLES['exchange'].items() for section, texts in sections.items()
    if section not in ('whole', 'asks', 'fragment') for text in texts]


@pytest.mark.parametrize(('text', 'locale'), LEANS_ON_EXCHANGE)
@pytest.mark.parametrize('before', [(), said('How far does the Lark go?', 'Far.')])
def test_what_leans_on_the_exchange_has_no_key(
    reader: ScopeReader, text: str, locale: str, before: tuple[Exchange, ...]
) -> None:
    scope = reader.of(text, locale, before)
    assert scope.key is None
    assert scope.leans
    assert scope.subject == ()
    assert scope.reason.startswith('leans on the exchange: ')


@pytest.mark.parametrize(('question', 'reply', 'locale'), [
    ('Which car do you mean?', 'The Lark', 'en'),
    ('May I ask your name?', 'Anna Lee', 'en'),
    ('What do you mostly drive?', 'Mostly to the office and back, sometimes to the sea', 'en'),
    ('Shall I call someone?', 'The one who helped me before lunch', 'en'),
    ('您想了解哪款车？', '云雀', 'zh'),
    ('请问您贵姓？', '姓王', 'zh'),
    ('您平时主要怎么用车呢', '主要是上下班，周末偶尔去海边', 'zh'),
    ('需要我叫同事来吗。', '刚来过的小伙子', 'zh'),
])
def test_an_answer_to_the_robots_question_has_no_key(
    reader: ScopeReader, question: str, reply: str, locale: str
) -> None:
    scope = reader.of(reply, locale, said('Hello, Lark', f'Gladly. {question}'))
    assert scope.key is None
    assert scope.reason


@pytest.mark.parametrize(('text', 'locale'), [
    ('How long is the warranty?', 'en'), ('Where are the restrooms?', 'en'), ('Does the Lark have lidar?', 'en'),
    ('质保多久？', 'zh'), ('洗手间在哪？', 'zh'), ('云雀有激光雷达吗？', 'zh'),
])
def test_a_whole_question_after_the_robots_question_stands_by_itself(
    reader: ScopeReader, text: str, locale: str
) -> None:
    assert reader.of(text, locale, said('Hi', 'Hello! What would you like to know?')).key == locale


@pytest.mark.parametrize(('text', 'locale'), [
    ('the Lark', 'en'), ('in red', 'en'), ('five people', 'en'), ('with a trailer on the motorway', 'en'),
    ('云雀', 'zh'), ('红色', 'zh'), ('五个人坐', 'zh'), ('如果拉着拖车跑高速', 'zh'),
])
def test_a_fragment_goes_on_where_the_exchange_before_ended(reader: ScopeReader, text: str, locale: str) -> None:
    assert reader.of(text, locale, ()).key == locale
    assert reader.of(text, locale, said('How far does the Heron go?', 'It goes 500 km.')).key is None


# Rule 2: what leans on a subject gets it from the conversation, or no key.

ABOUT_LARK = {'en': said('Tell me about the Lark.', 'The Lark is our smallest car.'),
              'zh': said('介绍一下云雀。', '云雀是我们最小的车。')}
LEANS_ON_SUBJECT = [
    (text, tongue) for tongue, sections in EXAMPLES['subject'].items() for section in ('product', 'pronoun', 'thing')
    for text in sections[section]]
MORE_THAT_LEAN = [
    ('Does it come in red?', 'en'), ('How long is it?', 'en'), ('Can I tow a boat with it?', 'en'),
    ('What does this car cost?', 'en'), ('How much is that one?', 'en'), ('Has it got massage seats?', 'en'),
    ('Is that model in stock?', 'en'), ('Where are they built?', 'en'), ('What colors does it come in?', 'en'),
    ('它有几种颜色？', 'zh'), ('那辆多少钱？', 'zh'), ('这款有红色吗？', 'zh'), ('这车安全吗？', 'zh'),
    ('该车型有几个座位？', 'zh'),
    ('它能拖房车吗？', 'zh'), ('这家几点关门？', 'zh'), ('多少钱', 'zh'), ('它的后备箱有多大？', 'zh'),
]


@pytest.mark.parametrize(('text', 'locale'), [*LEANS_ON_SUBJECT, *MORE_THAT_LEAN])
def test_what_leans_on_a_subject_takes_the_one_in_focus(reader: ScopeReader, text: str, locale: str) -> None:
    alone = reader.of(text, locale, ())
    assert (alone.key, alone.subject, alone.leans) == (None, (), True)
    scope = reader.of(text, locale, ABOUT_LARK[locale])
    assert (scope.key, scope.subject, scope.leans) == (f'{locale} model=lark', (LARK,), True)


def test_the_trim_in_focus_is_part_of_the_key(reader: ScopeReader) -> None:
    scope = reader.of('Does it have lidar?', 'en', said('How much is the Lark Max?', 'It costs a lot.'))
    assert scope == Scope('en model=lark trim=max', (LARK, MAX), leans=True, reason=scope.reason)
    assert reader.of('它有激光雷达吗？', 'zh', said('云雀顶配多少钱？', '不便宜。')).subject == (LARK, MAX)


@pytest.mark.parametrize('history', [
    said('Is the Lark bigger than the Heron?', 'No.'),
    said('Which cars are electric?', 'The Lark and the Heron.'),
    said('Is the Lark a seven-seater?', 'No, but the Bison is.'),
    said('How much is the Lark Core, and how much the Lark Max?', 'Less and more.'),
    said('Tell me about the Lark.', 'A small car.', 'Which car has massage seats?', 'The Heron.'),
    said('Tell me about the Lark.', 'A small car.', 'Does it have massage seats?', 'Only the Heron does.'),
    said('Does the Lark have massage seats?', 'Only the Max does.'),
    said('How long is the warranty?', 'Five years.'),
    said('How much is the Max?', 'Which car do you mean?'),
])
def test_no_key_where_two_subjects_may_be_meant_or_none_is_known(
    reader: ScopeReader, history: tuple[Exchange, ...]
) -> None:
    for question in ('How much is it?', 'Does it have lidar?', 'How far does this car go?'):
        scope = reader.of(question, 'en', history)
        assert (scope.key, scope.subject, scope.leans) == (None, (), True)


@pytest.mark.parametrize(('history', 'subject'), [
    (said('Tell me about the Lark.', 'A small car.', 'How far does the Heron go?', 'Far.'), (HERON,)),
    (said('Which car has massage seats?', 'The Heron has them.'), (HERON,)),
    (said('Which car has massage seats?', 'The Lark Max has them.'), (LARK, MAX)),
    (said('Tell me about the Lark.', 'A small car.', 'How far does it go?', 'The Lark goes far.'), (LARK,)),
    (said('Tell me about the Lark.', 'It comes as Core, Plus and Max.'), (LARK,)),
    (said('Tell me about the Lark.', 'A small car.', 'Does the Max have lidar?', 'It does.'), (LARK, MAX)),
    (said('What is the Lark Max like?', 'Fine.', 'Does it have lidar?', 'Yes.', 'Is it quiet?', 'Yes.'), (LARK, MAX)),
])
def test_the_latest_exchange_with_names_decides(
    reader: ScopeReader, history: tuple[Exchange, ...], subject: tuple[tuple[str, str], ...]
) -> None:
    scope = reader.of('Does it have a sunroof?', 'en', history)
    assert scope.subject == subject
    assert scope.key == ' '.join(['en', *(f'{kind}={name}' for kind, name in subject)])


def test_a_pronoun_means_what_was_spoken_of_just_now(reader: ScopeReader) -> None:
    elsewhere = said('Tell me about the Lark.', 'A small car.', 'Do you sell home chargers?', 'Yes, several.')
    assert reader.of('Does it have a display?', 'en', elsewhere).key is None
    assert reader.of('Does this car have a display?', 'en', elsewhere).key == 'en model=lark'
    then = said('介绍一下云雀。', '最小的车。', '你们卖充电桩吗？', '卖。')
    assert reader.of('它有屏幕吗？', 'zh', then).key is None
    assert reader.of('这款车有屏幕吗？', 'zh', then).key == 'zh model=lark'


@pytest.mark.parametrize(('asked', 'question', 'locale'), [
    ('Does the Lark have a heat pump?', 'How much is it?', 'en'), ("How big is the Lark's trunk?", 'Is it heated?',
    'en'),
    ('Tell me about the Lark warranty', 'How long is it?', 'en'), ('Does it have a sunroof?', 'Can I open it?', 'en'),
    ('云雀有热泵吗？', '多少钱？', 'zh'), ('介绍一下云雀质保', '多久？', 'zh'), ('云雀的后备箱多大？', '它防水吗？',
    'zh'),
])
def test_what_may_mean_a_part_spoken_of_has_no_key(
    reader: ScopeReader, asked: str, question: str, locale: str
) -> None:
    history = (*ABOUT_LARK[locale], Exchange(asked, 'Yes.'))
    assert reader.of(question, locale, history).key is None


@pytest.mark.parametrize(('asked', 'question', 'locale'), [
    ('How big is the Lark?', 'How much is it?', 'en'), ('How far does it go?', 'How much is it?', 'en'),
    ('What is the Lark Max like?', 'How long is it?', 'en'), ('云雀怎么样？', '多少钱？', 'zh'), ('它能跑多远？',
    '多大？', 'zh'),
])
def test_after_a_question_about_the_whole_car_it_is_the_car(
    reader: ScopeReader, asked: str, question: str, locale: str
) -> None:
    scope = reader.of(question, locale, (*ABOUT_LARK[locale], Exchange(asked, 'Yes.')))
    assert scope.leans
    assert scope.subject[0] == LARK


# Rule 3: what names its main subject stands by itself.

@pytest.mark.parametrize(('text', 'locale'), [
    ('Does the Lark come with its own charger?', 'en'), ('How much is it to lease a Lark?', 'en'),
    ('Is it easy to park the Heron?', 'en'), ('The Lark is small, is it safe?', 'en'),
    ('How much is the Bison Max?', 'en'), ('Is the Lark faster than the Heron?', 'en'),
    ('云雀有自己的充电枪吗？', 'zh'), ('苍鹭和北野哪个大？', 'zh'), ('云雀这么小安全吗？', 'zh'),
    ('好的，北野多少钱？', 'zh'),
    ('苍鹭这款车有天窗吗？', 'zh'), ('你们的云雀续航多少呢？', 'zh'),
])
@pytest.mark.parametrize('history', [(), said('Tell me about the Heron.', 'A big car.')])
def test_what_names_its_subject_stands_by_itself(
    reader: ScopeReader, text: str, locale: str, history: tuple[Exchange, ...]
) -> None:
    scope = reader.of(text, locale, history)
    assert (scope.key, scope.subject, scope.leans) == (locale, (), False)


# Rule 4: an open question keeps the subject in focus in its key, one about the house does not.

@pytest.mark.parametrize(('text', 'locale'), [
    ('How long is the warranty?', 'en'), ('Is there a heat pump?', 'en'), ('How long does charging take at home?',
    'en'),
    ('If the car is in stock, when can I pick it up?', 'en'), ('Is it safe to charge in a storm?', 'en'),
    ('质保多久？', 'zh'), ('有热泵吗？', 'zh'), ('在家充电方便吗？', 'zh'), ('我可以试驾吗？', 'zh'),
    ('电池坏了它能换吗？', 'zh'),
])
def test_an_open_question_keeps_the_focus_in_its_key(reader: ScopeReader, text: str, locale: str) -> None:
    alone = reader.of(text, locale, ())
    assert (alone.key, alone.subject, alone.leans) == (locale, (), False)
    scope = reader.of(text, locale, ABOUT_LARK[locale])
    assert (scope.key, scope.subject, scope.leans) == (f'{locale} model=lark', (LARK,), False)


def test_an_open_question_after_two_subjects_names_both_in_its_key(reader: ScopeReader) -> None:
    scope = reader.of('Is there a heat pump?', 'en', said('Is the Lark bigger than the Heron?', 'No.'))
    assert (scope.key, scope.subject) == ('en model=heron model=lark', ())


@pytest.mark.parametrize(('text', 'locale'), [
    *((text, tongue) for tongue, sections in EXAMPLES['subject'].items() for text in sections['house']),
    ('Where is your showroom?', 'en'), ('Are you open on Sundays?', 'en'), ('Is there parking for visitors?', 'en'),
    ('你们周末营业吗？', 'zh'), ('店里有咖啡吗？', 'zh'), ('停车方便吗？', 'zh'), ('展厅有洗手间吗？', 'zh'),
])
def test_a_question_about_the_house_has_no_subject(reader: ScopeReader, text: str, locale: str) -> None:
    scope = reader.of(text, locale, ABOUT_LARK[locale])
    assert (scope.key, scope.subject, scope.leans) == (locale, (), False)


@pytest.mark.parametrize(('text', 'locale'), [('How much is the Max?', 'en'), ('顶配有按摩座椅吗？', 'zh')])
def test_a_question_that_names_only_a_trim_takes_its_model_from_the_focus(
    reader: ScopeReader, text: str, locale: str
) -> None:
    assert reader.of(text, locale, ()).key == locale
    assert reader.of(text, locale, ABOUT_LARK[locale]).subject == (LARK,)
    plus = said('How much is the Lark Plus?', 'A lot.')
    assert reader.of(text, locale, plus).subject == (LARK,)
    assert reader.of(text, locale, said('Is the Lark bigger than the Heron?', 'No.')).key is None


# Laws.

_TEXTS = st.one_of(st.text(max_size=40), st.sampled_from([text for text, _ in [*LEANS_ON_SUBJECT, *LEANS_ON_EXCHANGE]]))
_HISTORIES = st.lists(st.builds(Exchange, _TEXTS, _TEXTS), max_size=5)


@given(_TEXTS, st.sampled_from(['en-US', 'zh-CN', 'de', '']), _HISTORIES)
def test_any_question_has_no_key_or_one_of_its_language(question: str, locale: str, history: list[Exchange]) -> None:
    scope = _READER.of(question, locale, history)
    assert scope.key is None or scope.key.split(' ')[0] == scope_of(locale)
    assert scope.key is not None or (scope.reason and not scope.subject)
    assert scope.key is None or all(f'{kind}={name}' in scope.key for kind, name in scope.subject)


@given(st.sampled_from(LEANS_ON_SUBJECT), st.sampled_from(['Lark', 'Heron', 'Bison', '云雀', '苍鹭']),
       st.sampled_from(['Lark', 'Heron', 'Bison', '北野']), st.sampled_from(['介绍一下{}', 'Tell me about the {}',
       '{} ok']))
def test_conversations_about_two_cars_never_share_a_key(
    asked: tuple[str, str], one: str, other: str, wording: str
) -> None:
    text, locale = asked
    keys = [_READER.of(text, locale, (Exchange(wording.format(each), 'Gladly.'),)).key for each in (one, other)]
    if None not in keys:
        assert (keys[0] == keys[1]) == (_NAMES.find(one) == _NAMES.find(other))


_NAMES = ProductNames.read(packaged.config_dir() / 'names.yaml')
_READER = ScopeReader.read(LEXICONS, _NAMES)


def test_nearly_all_questions_of_the_showroom_stand_by_themselves(reader: ScopeReader) -> None:
    keys = [reader.of(text, tongue, ()).key == tongue for entry in read_knowledge([packaged.config_dir() / 'knowledge'])
            for tongue, texts in entry.questions.items() for text in texts]
    assert sum(keys) >= 0.98 * len(keys)


def test_other_kinds_of_subject(tmp_path: Path) -> None:
    names = ProductNames({'Palace': ('venue', 'palace'), 'Lake': ('venue', 'lake')})
    venues = ScopeReader.read(LEXICONS, names, ('venue',))
    assert venues.of('When does it open?', 'en', said('I want to see the Palace', 'Do.')).subject == (('venue',
    'palace'),)
    with pytest.raises(PatternError, match='exchange'):
        ScopeReader.read(tmp_path, names)


@pytest.mark.parametrize(('question', 'locale'), [
    ('Is the Heron bigger?', 'en'), ('Is the Heron the same?', 'en'), ('How much more is the Heron?', 'en'),
    ('Is the same true?', 'en'), ('What are the exceptions?', 'en'), ('Can I see the list?', 'en'),
    ('Answer my previous question', 'en'), ('I disagree, are you sure?', 'en'), ('Does the former have AWD?', 'en'),
    ('苍鹭更大吗？', 'zh'), ('苍鹭贵多少？', 'zh'), ('苍鹭一样吗？', 'zh'), ('一样吗？', 'zh'),
    ('有没有更大的？', 'zh'),
    ('上一个问题再答一次', 'zh'), ('从什么时候开始？', 'zh'), ('有例外吗？', 'zh'), ('区别在哪？', 'zh'),
    ('在几楼？', 'zh'),
    ('需要多长时间？', 'zh'), ('哪一个最适合城市', 'zh'),
])
def test_half_a_comparison_and_what_points_back_have_no_key_after_anything_was_said(
    reader: ScopeReader, question: str, locale: str
) -> None:
    assert reader.of(question, locale, said('Is there coffee?', 'Yes, at the bar.')).key is None


@pytest.mark.parametrize(('before', 'question', 'key'), [
    ('Tell me about the Lark Max', 'What is the range of the Lark?', 'en trim=max'),
    ('Tell me about the Lark Max', 'What is the range of the Heron?', 'en'),
    ('Tell me about the Lark', 'What is the range of the Lark?', 'en'),
    ('介绍一下云雀旗舰版', '云雀续航多少', 'zh trim=max'),
])
def test_a_trim_spoken_of_may_be_meant_where_its_model_is_named(
    reader: ScopeReader, before: str, question: str, key: str
) -> None:
    assert reader.of(question, key[:2], said(before, 'Gladly.')).key == key
