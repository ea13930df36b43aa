"""Each public format, from small files of our own, published shape and reduced one."""
from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from pace_ros.study.datasets import DataSet, DataSetError, Question, load


def lines(path: Path, *rows: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('\n'.join(json.dumps(row, ensure_ascii=False) for row in rows), encoding='utf-8')


def squad(path: Path, *questions: tuple[str, str, str], passage: str = 'The tower is red.', **fields: str) -> None:
    qas = [{'id': key, 'question': text, 'answers': [{'text': answer, 'answer_start': 0}] * 2}
           for key, text, answer in questions]
    lines(path, {'version': '1', 'data': [{'title': 't', 'paragraphs': [{'context': passage, 'qas': qas, **fields}]}]})


def told(questions: Iterable[Question]) -> list[tuple[str, str, str]]:
    return [(each.text, each.locale, each.answer) for each in questions]


def passages(data: DataSet) -> dict[str, dict[str, str]]:
    return {each.entry_id: dict(each.answers) for each in data.knowledge if each.is_passage}


def cmrc(data: DataSet) -> tuple[object, ...]:
    """What was read, but for the passage's id."""
    (seed,), ((passage, answers),) = data.seeds, passages(data).items()
    assert seed.sources == ('faq-Q0', passage)
    return data.name, told(data.seeds), seed.accepted, answers, {each.kind for each in data.paraphrases}


CMRC = ('cmrc2018', [('塔是什么颜色？', 'zh-CN', '红色')], ('红色',), {'zh': '塔是红色。'}, {'derived'})


def test_cmrc_as_squad(tmp_path: Path) -> None:
    squad(tmp_path / 'cmrc2018_dev.json', ('Q0', '塔是什么颜色？', '红色'), passage='塔是红色。', id='DEV_0')
    data = load('cmrc2018', tmp_path)
    assert cmrc(data) == CMRC
    assert list(passages(data)) == ['DEV_0']


def test_cmrc_as_published_first(tmp_path: Path) -> None:
    lines(tmp_path / 'cmrc2018_trial.json', [{'context_id': 'T_0', 'context_text': '塔是红色。', 'title': '塔', 'qas': [
        {'query_id': 'Q0', 'query_text': '塔是什么颜色？', 'answers': ['红色']}]}])
    data = load('cmrc2018', tmp_path)
    assert cmrc(data) == CMRC
    assert list(passages(data)) == ['T_0']


def test_cmrc_as_lines_in_a_folder_of_its_name(tmp_path: Path) -> None:
    lines(tmp_path / 'cmrc2018/cmrc2018_dev_questions_zh.jsonl',
          {'id': 'Q0', 'passage_id': 'DEV_0', 'question': '塔是什么颜色？', 'answers': ['红色']},
          {'id': 'Q1', 'passage_id': 'DEV_0', 'question': '没有答案？', 'answers': []})
    lines(tmp_path / 'cmrc2018/cmrc2018_dev_passages_zh.jsonl',
          {'passage_id': 'DEV_0', 'title': '塔', 'text': '塔是红色。'})
    data = load('cmrc2018', tmp_path)
    assert cmrc(data) == CMRC
    assert list(passages(data)) == ['DEV_0']


def xquad(data: DataSet) -> tuple[object, ...]:
    return (
        told(data.seeds), {each.meaning for each in data.seeds}, passages(data),
        [(each.kind, each.text) for each in data.paraphrases if each.locale == 'en-US'],
        {each.kind for each in data.paraphrases if each.locale == 'zh-CN'},
    )


XQUAD = (
    [('What colour is it?', 'en-US', 'red'), ('它是什么颜色？', 'zh-CN', '红色')], {'k'},
    {'x0': {'en': 'The tower is red.', 'zh': '塔是红色。'}},
    [('asr', 'what collar is it'), ('back-translated', 'Which colour does it have?')], {'derived'},
)


def test_xquad_with_noise_as_published(tmp_path: Path) -> None:
    squad(tmp_path / 'xquad.en.json', ('k', 'What colour is it?', 'red'))
    squad(tmp_path / 'xquad.zh.json', ('k', '它是什么颜色？', '红色'), passage='塔是红色。')
    squad(tmp_path / 'Natural/xquad-asr-natural.json', ('k', 'what collar is it', 'red'))
    squad(tmp_path / 'xquad-keyboard-natural.json', ('k', 'What colour is it', 'red'), ('other', 'x', 'y'))
    squad(tmp_path / 'xquad-context-en-question-zh.json', ('k', 'Which colour does it have?', 'red'))
    assert xquad(load('xquad', tmp_path)) == XQUAD


def test_xquad_as_lines(tmp_path: Path) -> None:
    lines(tmp_path / 'xquad_noise_en_zh.jsonl', {
        'id': 'k', 'passage_id': 'x0', 'question_en': 'What colour is it?', 'question_zh': '它是什么颜色？',
        'asr_en': 'what collar is it', 'keyboard_en': 'What colour is it',
        'back_translated_en': 'Which colour does it have?', 'answer_en': 'red', 'answer_zh': '红色'})
    lines(tmp_path / 'xquad_passages_en_zh.jsonl',
          {'passage_id': 'x0', 'text_en': 'The tower is red.', 'text_zh': '塔是红色。'})
    assert xquad(load('xquad', tmp_path)) == XQUAD


def test_xquad_in_one_language(tmp_path: Path) -> None:
    squad(tmp_path / 'xquad.zh.json', ('k', '它是什么颜色？', '红色'), passage='塔是红色。')
    assert told(load('xquad', tmp_path).seeds) == [('它是什么颜色？', 'zh-CN', '红色')]


def dureader(data: DataSet) -> tuple[object, ...]:
    (seed,) = data.seeds
    return told(data.seeds), seed.accepted, seed.topic, list(passages(data).values())


DUREADER = ([('塔多高', 'zh-CN', '三百米。')], ('三百米。', '大约三百米。'), 'ENTITY', [{'zh': '塔高三百米。'}])


def test_dureader_as_published(tmp_path: Path) -> None:
    page = {'is_selected': True, 'most_related_para': 1, 'paragraphs': ['无关', '塔高三百米。'], 'title': '塔'}
    lines(tmp_path / 'trainset/search.train.json',
          {'question_id': 7, 'question': '塔多高', 'question_type': 'ENTITY', 'answers': ['三百米。', '大约三百米。'],
           'documents': [page, {**page, 'is_selected': False}, {**page, 'most_related_para': 9}]},
          {'question_id': 8, 'question': '没有答案', 'question_type': 'ENTITY', 'documents': [page]})
    assert dureader(load('dureader', tmp_path)) == DUREADER


def test_dureader_as_lines(tmp_path: Path) -> None:
    lines(tmp_path / 'dureader_demo_zh.jsonl', {
        'id': 'd-1', 'question': '塔多高', 'type': 'ENTITY', 'answers': ['三百米。', '大约三百米。'],
        'passages': ['塔高三百米。']})
    assert dureader(load('dureader', tmp_path)) == DUREADER


def banking(data: DataSet) -> tuple[object, ...]:
    return (
        told(data.seeds), [(each.text, each.meaning) for each in data.paraphrases if each.kind == 'intent'],
        [each.entry_id for each in data.knowledge],
    )


BANKING = (
    [('Where is my card?', 'en-US', 'intent: card arrival'), ('What is the rate?', 'en-US', 'intent: exchange rate')],
    [('My card, when does it come', 'card_arrival')], ['faq-card_arrival'],
)


def test_banking_as_published(tmp_path: Path) -> None:
    (tmp_path / 'test.csv').write_text(
        'text,category\nWhere is my card?,card_arrival\n"My card, when does it come",card_arrival\n'
        'What is the rate?,exchange_rate\n')
    assert banking(load('banking77', tmp_path)) == BANKING


def test_banking_as_lines(tmp_path: Path) -> None:
    lines(tmp_path / 'banking77_en.jsonl', *(
        {'text': text, 'intent': intent} for text, intent in (
            ('Where is my card?', 'card_arrival'), ('My card, when does it come', 'card_arrival'),
            ('What is the rate?', 'exchange_rate'))))
    assert banking(load('banking77', tmp_path)) == BANKING


def test_crosswoz(tmp_path: Path) -> None:
    asked = {'domain': '景点', 'entity': '故宫', 'context_dependent': False}
    lines(
        tmp_path / 'crosswoz_questions_zh.jsonl',
        {**asked, 'id': '1', 'question': '故宫门票多少？', 'slot': '门票', 'cluster': '故宫/门票', 'answer': 60},
        {**asked, 'id': '2', 'question': '进故宫要多少钱？', 'slot': '门票', 'cluster': '故宫/门票', 'answer': 60},
        {**asked, 'id': '3', 'question': '故宫周边？', 'slot': '周边景点', 'cluster': 's', 'answer': ['景山', '北海']},
        {**asked, 'id': '4', 'question': '它在哪？', 'slot': '地址', 'cluster': 'a', 'answer': 'x',
         'context_dependent': True},
        {**asked, 'id': '5', 'question': '故宫电话？', 'slot': '电话', 'cluster': 'p', 'answer': None},
        {**asked, 'id': '6', 'question': '故宫酒店？', 'slot': '周边酒店', 'cluster': 'h', 'answer': []},
    )
    lines(tmp_path / 'crosswoz_kb_zh.jsonl',
          {'领域': '景点', '名称': '故宫', '门票': 60, '设施': ['厕所', '\n'], '评分': 4.7},
          {'领域': '景点', '名称': '长城', '地址': '延庆'})
    data = load('crosswoz', tmp_path)
    assert [(each.meaning, each.answer, each.accepted, each.volatile) for each in data.seeds] == [
        ('故宫/门票', '故宫的门票：60元', (), True), ('s', '故宫的周边景点：景山、北海', ('景山、北海',), False)]
    assert [each.text for each in data.paraphrases if each.kind == 'cluster'] == ['进故宫要多少钱？']
    assert passages(data) == {'venue-故宫': {'zh': '领域：景点；名称：故宫；门票：60元；设施：厕所；评分：4.7分'}}


def evergreen(data: DataSet) -> tuple[object, ...]:
    return [(each.text, each.locale, each.volatile, each.accepted) for each in data.seeds], data.knowledge[0].volatile


EVERGREEN = (
    [('谁是国王？', 'zh-CN', True, ('查理三世', '查理3')),
     ('Who is king?', 'en-US', True, ('Charles III', 'Charles 3'))], True,
)


def test_evergreen_as_published(tmp_path: Path) -> None:
    (tmp_path / 'test.csv').write_text(',Russian,English,Chinese,is_evergreen\n0,x,Who is king?,谁是国王？,0\n'
                                       '7,x,No answer?,没有？,1\n', encoding='utf-8')
    (tmp_path / 'aliases').mkdir()
    (tmp_path / 'aliases/test_aliases.csv').write_text(
        ',English,Chinese\n'
        '0,"[""[\'Charles III\', \'Charles 3\', \'Charles 3\']""]",[\'查理三世；查理3\']\n',
        encoding='utf-8')
    assert evergreen(load('evergreen', tmp_path)) == EVERGREEN


def test_evergreen_as_lines(tmp_path: Path) -> None:
    asked = {'id': 'e', 'split': 'test', 'question_zh': '谁是国王？', 'question_en': 'Who is king?', 'volatile': True}
    lines(tmp_path / 'evergreen_volatility_zh_en.jsonl',
          {**asked, 'answers_zh': ['查理三世', '查理3'], 'answers_en': ['Charles III', 'Charles 3']},
          {**asked, 'id': 'f', 'answers_zh': [], 'answers_en': []})
    assert evergreen(load('evergreen', tmp_path)) == EVERGREEN


@pytest.mark.parametrize(('name', 'file', 'row', 'message'), [
    ('cmrc2018', 'cmrc2018_dev.json', {'data': [{'paragraphs': [{'context': 'c', 'qas': [{'id': 'q'}]}]}]},
     r"data\[0\], paragraphs\[0\], qas\[0\], field 'answers': is missing"),
    ('banking77', 'banking77_en.jsonl', {'text': 'x'}, "line 1, field 'intent': is missing"),
    ('evergreen', 'evergreen_volatility_zh_en.jsonl', {'id': 'a', 'volatile': 'no'},
     "line 1, field 'volatile': must be true or false"),
    ('dureader', 'search.dev.json', {'question': 'q', 'question_type': 'E', 'answers': ['a'], 'documents': 1},
     "line 1, field 'documents': must be a list of objects"),
])
def test_a_broken_file_is_refused_with_its_place_and_field(
    tmp_path: Path, name: str, file: str, row: object, message: str
) -> None:
    lines(tmp_path / file, row)
    with pytest.raises(DataSetError, match=message) as refused:
        load(name, tmp_path)
    assert str(refused.value).startswith(str(tmp_path / file))


@pytest.mark.parametrize('name', ['cmrc2018', 'xquad', 'dureader', 'banking77', 'crosswoz', 'evergreen'])
def test_absent_files_are_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataSetError, match=f"data set '{name}': .* has no file .*{name[:4]}|search|test"):
        load(name, tmp_path)
