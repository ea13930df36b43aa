from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pace_ros import packaged
from pace_ros.facts import AntonymError, Polarity
from pace_ros.facts.lexicon import Side
from pace_ros.facts.numerals import plain

SHIPPED = Polarity.read(packaged.config_dir() / 'antonyms.yaml')
SMALL = """
en:
  negations: ["not", "no"]
  neutral: ["no problem"]
  unmarked: ["have"]
  pairs:
    have: [["has"], ["lacks"]]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / 'antonyms.yaml'


def taken(text: str, locale: str) -> set[Side]:
    return set(SHIPPED.find(plain(text).lower(), locale).taken)


def stated(text: str, locale: str) -> set[Side]:
    return set(SHIPPED.stated(plain(text).lower(), locale))


def negations(text: str, locale: str) -> int:
    return SHIPPED.find(plain(text).lower(), locale).negations


@pytest.mark.parametrize(('text', 'sides'), [
    ('It has heated seats.', {('have', 1)}),
    ('It does not have heated seats.', {('have', -1)}),
    ("It doesn't have heated seats.", {('have', -1)}),
    ('It doesn’t have heated seats.', {('have', -1)}),
    ('it doesnt have heated seats', {('have', -1)}),
    ("Doesn't it have heated seats?", {('have', -1)}),
    ('It lacks a spare.', {('have', -1)}),
    ('without a spare', {('have', -1)}),
    ('with a spare', {('have', 1)}),
    ("It can't tow.", {('can', -1)}),
    ("It can't have a tow bar.", {('can', -1), ('have', -1)}),
    ('We are open.', {('open', 1)}),
    ('We are closed.', {('open', -1)}),
    ("We aren't open.", {('open', -1)}),
    ("We aren't closed.", {('open', 1)}),
    ('It is cheaper.', {('price', -1)}),
    ('It is more expensive.', {('price', 1)}),
    ('It is less expensive.', {('price', -1)}),
    ('It is not available.', {('available', -1)}),
    ('Please turn off the lamp.', {('switch', -1)}),
    ('fast charging', {('charging', 1)}),
    ('Yes, of course.', {('stance', 1)}),
    ('No.', {('stance', -1)}),
    ('No, it has none.', {('stance', -1), ('have', 1)}),
    ('Yes it does', {('stance', 1)}),
    ('Certainly not.', {('stance', -1)}),
])
def test_an_english_text_takes_the_sides_of_its_words(text: str, sides: set[Side]) -> None:
    assert taken(text, 'en-US') == sides


@pytest.mark.parametrize(('text', 'sides'), [
    ('苍鹭有天窗。', {('have', 1)}),
    ('苍鹭没有天窗。', {('have', -1)}),
    ('云雀不带热泵。', {('have', -1)}),
    ('能拖挂车。', {('can', 1)}),
    ('不能拖挂车。', {('can', -1)}),
    ('不能打开。', {('can', -1), ('open', -1)}),
    ('装不了。', {('can', -1)}),
    ('不是免费的。', {('free', -1)}),
    ('免费', {('free', 1)}),
    ('周日休息。', {('open', -1)}),
    ('不太贵。', {('price', -1)}),
    ('更便宜。', {('price', -1)}),
    ('空间更大。', {('size', 1)}),
    ('空间大吗？', {('size', 1)}),
    ('声音会大一点，', {('size', 1)}),
    ('有点小。', {('size', -1)}),
    ('快充', {('charging', 1)}),
    ('慢充', {('charging', -1)}),
    ('是的，有天窗。', {('stance', 1), ('have', 1)}),
    ('不能，只是辅助驾驶。', {('stance', -1), ('can', -1)}),
    ('当然可以。', {('stance', 1), ('can', 1)}),
])
def test_a_chinese_text_takes_the_sides_of_its_words(text: str, sides: set[Side]) -> None:
    assert taken(text, 'zh-CN') == sides


@pytest.mark.parametrize(('a_not_a', 'positive'), [
    ('能不能拖挂车？', '能拖挂车吗？'),
    ('可不可以预约？', '可以预约吗？'),
    ('可以不可以预约？', '可以预约吗？'),
    ('有没有天窗？', '有天窗吗？'),
    ('有天窗没有？', '有天窗吗？'),
    ('支不支持快充？', '支持快充吗？'),
    ('带不带热泵', '带热泵吗'),
    ('保养贵不贵？', '保养贵吗？'),
    ('后备厢大不大？', '后备厢大吗？'),
    ('便不便宜？', '便宜吗？'),
    ('是不是四驱？', '是四驱吗？'),
    ('要不要预约？', '要预约吗？'),
    ('会不会晕车？', '会晕车吗？'),
    ('电池坏了没有？', '电池坏了吗？'),
    ('舒不舒服？', '舒服吗？'),
])
def test_a_question_in_a_not_a_form_denies_nothing(a_not_a: str, positive: str) -> None:
    asked = SHIPPED.find(plain(a_not_a), 'zh-CN')
    assert asked == SHIPPED.find(plain(positive), 'zh-CN')
    assert asked.negations == 0
    assert stated(a_not_a, 'zh-CN') == set()


@pytest.mark.parametrize('text', [
    '大家好', '三个小时', '长安街', '大概吧', '最大限度', '小鹏', '小米', '小区里', '大约', '长途', '长宽高', '短信',
    '短途', '赶快来', '尽快', '快递', '慢慢来', '成长',
    '多大', '多长', '多快', '贵姓', '贵宾', '大部分', '买单', '退款', '退休', '智能驾驶', '功能', '性能', '动能回收',
    '新能源', '可能', '安全带', '带您看看',
    '您真有眼光', '有意思', '有趣', '有点', '不错', '不过', '特别', '级别', '别的', '差不多', '不好意思', '没关系',
    '没问题', '无线', '未来', '识别', '要不', '休息区',
])
def test_a_chinese_word_with_such_a_character_in_it_takes_no_side_and_denies_nothing(text: str) -> None:
    assert taken(text, 'zh-CN') == set()
    assert negations(text, 'zh-CN') == 0


@pytest.mark.parametrize('text', [
    'Bear with me, please.', 'With pleasure!', 'No problem!', 'No worries.', 'Why not?', 'How long is it?',
    'How big is it?',
    'over-the-air', 'as soon as possible', 'in front of it', 'one more moment', 'Feel free', 'longing', 'opener',
    'notable',
    'Right now', 'Not only that', '',
])
def test_an_english_phrase_with_such_a_word_in_it_takes_no_side_and_denies_nothing(text: str) -> None:
    assert taken(text, 'en-US') == set()
    assert negations(text, 'en-US') == 0


@pytest.mark.parametrize(('text', 'sides'), [
    ('No, the Heron has it.', {('stance', -1), ('have', 1)}),
    ('It is not cheap but fast.', {('price', 1), ('speed', 1)}),
    ('It does not have a front trunk, just open space.', {('have', -1), ('open', 1)}),
    ('It is not what I would call open.', {('open', 1)}),
    ('不贵，能买。', {('price', -1), ('can', 1), ('buy', 1)}),
])
def test_a_negation_turns_round_one_word_near_by(text: str, sides: set[Side]) -> None:
    assert taken(text, 'zh-CN' if not text.isascii() else 'en-US') == sides


@pytest.mark.parametrize(('text', 'times', 'locale'), [
    ('Which cars are electric?', 0, 'en'),
    ('Which cars are not electric?', 1, 'en'),
    ("Which cars aren't electric and never noisy?", 2, 'en'),
    ('cannot', 1, 'en'),
    ('哪些车是电动的？', 0, 'zh'),
    ('哪些车不是电动的？', 1, 'zh'),
    ('不能不去', 0, 'zh'),
])
def test_negations_of_any_word_are_counted(text: str, times: int, locale: str) -> None:
    assert negations(text, locale) == times


def test_a_question_states_nothing() -> None:
    assert stated('Can you wait? It is open.', 'en') == {('open', 1)}
    assert stated('Is it open?', 'en') == set()
    assert stated('您能等一下吗？有天窗。', 'zh') == {('have', 1)}
    assert stated('能不能贷要看收入。', 'zh') == set()


def test_what_goes_without_saying_is_not_marked() -> None:
    assert SHIPPED.find('does it have a sunroof?', 'en').marked == frozenset()
    assert SHIPPED.find('does it not have a sunroof?', 'en').marked == {('have', -1)}
    assert SHIPPED.find('is it cheap?', 'en').degrees == {('price', -1)}
    assert SHIPPED.find('is it open?', 'en').loose == {('open', 1)}


@pytest.mark.parametrize(('text', 'times', 'locale'), [
    ("why can't it open?", 1, 'en'),
    ("why won't it open?", 1, 'en'),
    ('why is it unable to open?', 1, 'en'),
    ('why is it not able to open?', 1, 'en'),
    ('is it forbidden?', 1, 'en'),
    ('does it not have one?', 0, 'en'),
    ('is it not cheap?', 1, 'en'),
    ('不能停吗', 1, 'zh'),
    ('禁止停吗', 1, 'zh'),
    ('没有吗', 0, 'zh'),
])
def test_what_cannot_be_is_denied_like_what_is_not(text: str, times: int, locale: str) -> None:
    assert negations(text, locale) == times


def test_a_side_denied_is_asked_for_as_that_side() -> None:
    denied, opposite = SHIPPED.find('is it not cheap?', 'en'), SHIPPED.find('is it expensive?', 'en')
    assert denied.degrees == {('price', -1)}
    assert opposite.degrees == {('price', 1)}
    assert denied.taken == opposite.taken
    assert not denied.asks_as(opposite, one_language=True)


def test_a_loose_pair_tells_apart_only_its_two_sides() -> None:
    opens, closes, neither = (SHIPPED.find(text, 'en') for text in ('is it open?', 'is it closed?', 'is it there?'))
    assert opens.asks_as(neither, one_language=True)
    assert not opens.asks_as(closes, one_language=True)


def test_degrees_are_loose_between_two_languages() -> None:
    large, small, any_size = (SHIPPED.find(text, 'en') for text in ('a large boot?', 'a small boot?', 'a boot?'))
    assert not large.asks_as(any_size, one_language=True)
    assert large.asks_as(any_size, one_language=False)
    assert not large.asks_as(small, one_language=False)


@pytest.mark.parametrize('locale', ['zh-CN', 'en-US', 'fr', ''])
def test_a_text_is_judged_by_the_opposites_of_its_script(locale: str) -> None:
    assert taken('不能', locale) == {('stance', -1), ('can', -1)}
    assert taken('it is closed', locale) == {('open', -1)}


@pytest.mark.parametrize(('content', 'message'), [
    ('', "must map languages to opposites, 'en' among them"),
    ('zh: {}', "must map languages to opposites, 'en' among them"),
    ('en: [', 'cannot be read'),
    ('en: 1', "field 'en': must have 'negations'"),
    ('en: {negations: [not]}', "field 'en': must have 'negations'"),
    ('en: {negations: [], pairs: {}}', r"field 'en\.negations': must be a list of words"),
    ('en: {pairs: {}}', "field 'en': must have 'negations'"),
    ('en: {negations: [1], pairs: {}}', r"field 'en\.negations': must be a list of words"),
    ('en: {negations: [not], pairs: {a: [[x]]}}', r"field 'en\.pairs\.a': must be two lists of words"),
    ('en: {negations: [not], pairs: {a: [[x], []]}}', r"field 'en\.pairs\.a': must be two lists of words"),
    ('en: {negations: [not], pairs: {a: [[x], x]}}', r"field 'en\.pairs\.a': must be two lists of words"),
    ('en: {negations: [not], pairs: {a: [[x], [X]]}}', r"field 'en\.pairs\.a': 'X' is on another side too"),
    ('en: {negations: [not], neutral: not, pairs: {}}', r"field 'en\.neutral': must be a list of words"),
    ('en: {negations: [not], unmarked: [a], pairs: {}}', r"field 'en\.unmarked': 'a' is no pair"),
    ('en: {negations: [not], denials: [a], pairs: {a: [[x], [y]]}}', r"field 'en\.denials': 'a' is not unmarked"),
    ('en: {negations: [not], loose: [a], pairs: {}}', r"field 'en\.loose': 'a' is no pair"),
    ('en: {negations: [not], degrees: a, pairs: {}}', r"field 'en\.degrees': must be a list of words"),
    ('en: {negations: [not], neutral: [Not], pairs: {}}', r"field 'en\.neutral': 'not' is also a negation"),
    ('en: {negations: [not], neutral: [x], pairs: {a: [[x], [y]]}}', r"field 'en\.neutral': 'x' is also"),
    ('en: {negations: [not], describing: [x], pairs: {}}', r"field 'en\.describing': 'x' is in no pair"),
    (SMALL + 'zh: {negations: [不], describing: 大, pairs: {}}', r"field 'zh\.describing': must be a list of words"),
])
def test_a_malformed_file_is_refused_with_file_and_field(file: Path, content: str, message: str) -> None:
    file.write_text(content, encoding='utf-8')
    with pytest.raises(AntonymError, match=message) as caught:
        Polarity.read(file)
    assert str(file) in str(caught.value)


def test_a_file_that_is_absent_is_refused_by_name(file: Path) -> None:
    with pytest.raises(AntonymError, match=r'antonyms\.yaml'):
        Polarity.read(file)


def test_a_small_file_is_enough(file: Path) -> None:
    file.write_text(SMALL, encoding='utf-8')
    polarity = Polarity.read(file)
    assert polarity.find('no problem, it has one', 'en').taken == {('have', 1)}
    assert polarity.find('it has no boot', 'en').negations == 1
    assert polarity.find('没有', 'zh').taken == frozenset()


@given(text=st.text(st.characters() | st.sampled_from("不没有能大吗?？。,n't nohave "), max_size=40),
       locale=st.sampled_from(['zh', 'en']))
@example(text='high', locale='en')  # a word that only asks: loose, and no side that is taken
def test_any_text_can_be_judged(text: str, locale: str) -> None:
    sides = SHIPPED.find(plain(text).lower(), locale)
    assert {pair for pair, _ in sides.marked | sides.degrees} <= {pair for pair, _ in sides.taken}
    SHIPPED.stated(plain(text).lower(), locale)
