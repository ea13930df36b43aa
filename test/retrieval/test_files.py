from __future__ import annotations

import codecs
import datetime
import json
from pathlib import Path

import pytest

from pace_ros.retrieval import KnowledgeEntry, KnowledgeError, read_knowledge

RANGE = KnowledgeEntry(
    entry_id='range',
    questions={'zh': ('多远？', '续航多少？'), 'en': ('How far?',)},
    answers={'zh': '很远。', 'en': 'Far, "really" far.'},
    topic='vehicles',
    volatile=True,
    source='brochure',
    valid_until=datetime.date(2027, 12, 31),
)
SEATS = KnowledgeEntry(entry_id='seats', questions={'en': ('How many seats?',)}, answers={'en': 'Five.'})

YAML = """\
# a comment
- id: range
  topic: vehicles
  volatile: true
  source: brochure
  valid_until: 2027-12-31
  questions:
    zh: ["多远？", "续航多少？"]
    en: ["How far?"]
  answer:
    zh: 很远。
    en: Far, "really" far.

- id: seats
  questions: {en: "How many seats?"}
  answer: {en: Five.}
"""
JSONL = (
    json.dumps({
        'id': 'range', 'topic': 'vehicles', 'volatile': True, 'source': 'brochure', 'valid_until': '2027-12-31',
        'questions': {'zh': ['多远？', '续航多少？'], 'en': ['How far?']},
        'answer': {'zh': '很远。', 'en': 'Far, "really" far.'},
    }, ensure_ascii=False)
    + '\n\n'
    + '{"id": "seats", "questions": {"en": "How many seats?"}, "answer": {"en": "Five."}}\n'
)
CSV = """\
id,topic,volatile,source,valid_until,questions.zh,questions.en,answer.zh,answer.en
range,vehicles,true,brochure,2027-12-31,多远？|续航多少？,How far?,很远。,"Far, ""really"" far."
seats,,,,,,How many seats?,,Five.
"""
FORMATS = {'kb.yaml': YAML, 'kb.yml': YAML, 'kb.jsonl': JSONL, 'kb.csv': CSV}


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(*paths: Path) -> str:
    with pytest.raises(KnowledgeError) as caught:
        read_knowledge(paths)
    return str(caught.value)


# -- what is read ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('name', FORMATS)
def test_every_format_gives_the_same_entries(tmp_path: Path, name: str) -> None:
    assert read_knowledge([written(tmp_path, name, FORMATS[name])]) == [RANGE, SEATS]


@pytest.mark.parametrize('name', FORMATS)
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path, name: str) -> None:
    content = codecs.BOM_UTF8 + FORMATS[name].replace('\n', '\r\n').encode()
    assert read_knowledge([written(tmp_path, name, content)]) == [RANGE, SEATS]


def test_a_missing_line_end_at_the_end_changes_nothing(tmp_path: Path) -> None:
    for name, content in FORMATS.items():
        assert read_knowledge([written(tmp_path, name, content.rstrip('\n'))]) == [RANGE, SEATS]


def test_a_folder_is_read_in_order_of_name_with_all_below_and_nothing_else(tmp_path: Path) -> None:
    entry = '- {{id: {0}, questions: {{en: q {0}}}, answer: {{en: a}}}}\n'
    written(tmp_path, 'b.yaml', entry.format('b'))
    written(tmp_path, 'a.yml', entry.format('a'))
    written(tmp_path, 'sub/c.yaml', entry.format('c'))
    written(tmp_path, 'notes.txt', 'not knowledge')
    written(tmp_path, 'empty.yaml', '# nothing yet\n')
    assert [each.entry_id for each in read_knowledge([tmp_path])] == ['a', 'b', 'c']


def test_several_paths_are_read_in_the_order_given(tmp_path: Path) -> None:
    z = written(tmp_path, 'z.jsonl', JSONL.splitlines()[0])
    a = written(tmp_path, 'a.jsonl', JSONL.splitlines()[2])
    assert read_knowledge([z, a]) == [RANGE, SEATS]


def test_a_csv_cell_may_hold_line_ends_and_blank_rows_are_passed_over(tmp_path: Path) -> None:
    content = 'id,questions.en,answer.en\n\nrange,How far?,"Far,\nreally."\n\n'
    (entry,) = read_knowledge([written(tmp_path, 'kb.csv', content)])
    assert entry.answers == {'en': 'Far,\nreally.'}


@pytest.mark.parametrize('separator', ['\u2028', '\u0085', '\x0c', '\x1c'])
def test_only_line_ends_end_a_line(tmp_path: Path, separator: str) -> None:
    """Text pasted from a web page carries such separators."""
    answer = f'Far,{separator}really.'
    line = json.dumps({'id': 'r', 'questions': {'en': 'q'}, 'answer': {'en': answer}}, ensure_ascii=False)
    for name, content in (
        ('kb.jsonl', line),
        ('quoted.csv', f'id,questions.en,answer.en\nr,q,"{answer}"\n'),
        ('bare.csv', f'id,questions.en,answer.en\nr,q,{answer.replace(",", ";")}\n'),
    ):
        (entry,) = read_knowledge([written(tmp_path, name, content)])
        assert entry.answers['en'].replace(';', ',') == answer, name


# -- Markdown -------------------------------------------------------------------------------------------------------

MARKDOWN = """\
Before any heading.

# Charging
A home charger gives 7 kW.

## Empty
### 质保
质保六年。
第二行。
#hashtag is text
####### seven is text
"""


def test_markdown_gives_one_passage_a_heading_that_never_answers(tmp_path: Path) -> None:
    entries = read_knowledge([written(tmp_path, 'guide.md', MARKDOWN)])
    assert [each.entry_id for each in entries] == ['guide#guide', 'guide#Charging', 'guide#Charging / Empty / 质保']
    assert all(each.is_passage and not each.questions and each.source == 'guide.md' for each in entries)
    assert entries[0].answers == {'en': 'guide\nBefore any heading.'}
    assert entries[1].answers == {'en': 'Charging\nA home charger gives 7 kW.'}
    text = '质保六年。\n第二行。\n#hashtag is text\n####### seven is text'
    assert entries[2].answers == {'zh': f'Charging / Empty / 质保\n{text}'}
    assert entries[1].answer('zh-CN') is None


def test_equal_headings_under_different_ones_are_different_passages(tmp_path: Path) -> None:
    text = '# Lark\n## Warranty\nFive years.\n# Heron\n## Warranty\nSix years.\n'
    entries = read_knowledge([written(tmp_path, 'guide.md', text)])
    assert [each.entry_id for each in entries] == ['guide#Lark / Warranty', 'guide#Heron / Warranty']


def test_a_fenced_block_has_no_headings(tmp_path: Path) -> None:
    text = '# Setup\n```\n# a comment\nrun it\n```\nThen drive.\n'
    (entry,) = read_knowledge([written(tmp_path, 'guide.md', text)])
    assert entry.answers == {'en': 'Setup\n```\n# a comment\nrun it\n```\nThen drive.'}


def test_markdown_may_come_from_windows(tmp_path: Path) -> None:
    content = codecs.BOM_UTF8 + b'# Charging\r\nAt home.\r\n'
    (entry,) = read_knowledge([written(tmp_path, 'guide.md', content)])
    assert (entry.entry_id, entry.answers) == ('guide#Charging', {'en': 'Charging\nAt home.'})


def test_a_repeated_heading_is_refused_naming_both_lines(tmp_path: Path) -> None:
    path = written(tmp_path, 'guide.md', '# A\nfirst\n\n# B\nother\n# A\nsecond\n')
    message = refusal(path)
    assert message.startswith(f"{path}, line 6, field 'id': ")
    assert f'{path}, line 1' in message


def test_markdown_without_text_is_no_knowledge(tmp_path: Path) -> None:
    path = written(tmp_path, 'guide.md', '# Title\n\n## Sub\n')
    assert refusal(path) == f'There is no knowledge in {path}.'


# -- what is refused ------------------------------------------------------------------------------------------------


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert 'absent.yaml' in refusal(tmp_path / 'absent.yaml')


def test_an_unknown_ending_is_refused_naming_the_known(tmp_path: Path) -> None:
    message = refusal(written(tmp_path, 'kb.xlsx', 'x'))
    assert 'kb.xlsx' in message
    for ending in ('.yaml', '.yml', '.jsonl', '.csv', '.md'):
        assert ending in message


@pytest.mark.parametrize(('name', 'content'), [('a.yaml', ''), ('a.jsonl', '\n\n'), ('a.csv', ''), ('a.csv', 'id\n')])
def test_no_entry_at_all_is_refused(tmp_path: Path, name: str, content: str) -> None:
    path = written(tmp_path, name, content)
    assert refusal(path) == f'There is no knowledge in {path}.'
    assert str(tmp_path) in refusal(tmp_path)


@pytest.mark.parametrize('name', [*FORMATS, 'kb.md'])
def test_a_file_that_is_not_utf8_is_named(tmp_path: Path, name: str) -> None:
    message = refusal(written(tmp_path, name, '价格'.encode('gb18030')))
    assert name in message
    assert 'cannot be read' in message


def test_an_id_given_twice_across_files_is_refused_naming_both_places(tmp_path: Path) -> None:
    first = written(tmp_path, 'a.yaml', YAML)
    second = written(tmp_path, 'b.jsonl', '\n' + JSONL.splitlines()[2])
    message = refusal(first, second)
    assert message.startswith(f"{second}, line 2, field 'id': 'seats'")
    assert f'{first}, line 14' in message


@pytest.mark.parametrize(
    ('name', 'content', 'line', 'field'),
    [
        ('kb.yaml', '- id: a\n  questions: {en: q}\n  answer: {en: x}\n\n- id: b\n  answer: {en: x}\n', 5, 'questions'),
        ('kb.yaml', '\n\n- id: a\n  questions:\n    en: ["q", "  "]\n  answer: {en: x}\n', 3, 'questions.en'),
        ('kb.yaml', '- id: a\n  questions: {en: q}\n  answer: {en: x}\n  valid_until: soon\n', 1, 'valid_until'),
        ('kb.yaml', '- id: a\n  questions: {en: q}\n  answer: {en: x}\n  valid_until: 2027-02-30\n', 1, 'valid_until'),
        ('kb.yaml', '- id: 7\n  questions: {en: q}\n  answer: {en: x}\n', 1, 'id'),
        ('kb.yaml', '- id: a\n  questions: {en: q}\n  answer: {en: x}\n  colour: red\n', 1, 'colour'),
        ('kb.jsonl', JSONL + '{"id": "b", "questions": {"en": "q"}, "answer": {"en": " "}}', 4, 'answer.en'),
        ('kb.jsonl', '{"id": "b", "questions": {"en": ["\\ud83d"]}, "answer": {"en": "x"}}', 1, 'questions.en'),
        ('kb.csv', CSV + 'c,,,,soon,,q,,x\n', 4, 'valid_until'),
        ('kb.csv', CSV + 'c,,,,,,q||r,,x\n', 4, 'questions.en'),
        ('kb.csv', CSV + 'c,,,,,,q,,\n', 4, 'answer'),
        ('kb.csv', CSV + 'c,,perhaps,,,,q,,x\n', 4, 'volatile'),
        ('kb.csv', CSV + ',,,,,,q,,x\n', 4, 'id'),
        ('kb.csv', 'id,question.en,answer.en\na,q,x\n', 2, 'question.en'),
    ],
)
def test_a_bad_entry_is_refused_naming_file_line_and_field(
    tmp_path: Path, name: str, content: str, line: int, field: str
) -> None:
    path = written(tmp_path, name, content)
    assert refusal(path).startswith(f"{path}, line {line}, field '{field}': ")


@pytest.mark.parametrize(
    ('content', 'line'),
    [
        ('- id: a\n  questions: [en: q\n', 3),
        ('- id: a\n\tquestions: b\n', 2),
        ('- id: a\n- "open\n', 3),
        ('- id: *nobody\n', 1),
        ('- id: a\n---\n- id: b\n', 2),
        ('id: a\n', 1),
        ('just text\n', 1),
        ('- id: a\n  topic: bad \x07 bell\n', 2),
        ('- !!python/object:os.system {}\n', 1),
        ('- [1, 2]\n', 1),
        ('# one\n- {? {a: b} : c}\n', 2),
        ('- {volatile: !!bool maybe}\n', 1),
    ],
)
def test_what_is_no_list_of_yaml_entries_is_refused_naming_file_and_line(
    tmp_path: Path, content: str, line: int
) -> None:
    path = written(tmp_path, 'kb.yaml', content)
    assert refusal(path).startswith(f'{path}, line {line}')


def test_a_yaml_key_given_twice_is_refused_lest_one_value_be_lost(tmp_path: Path) -> None:
    path = written(tmp_path, 'kb.yaml', '- id: a\n  questions: {en: q}\n  answer:\n    en: old\n    en: new\n')
    assert refusal(path).startswith(f'{path}, line ')


@pytest.mark.parametrize(('content', 'line'), [('{"id": \n', 1), (JSONL + 'text', 4), (JSONL + '[1]', 4), ('"a"', 1)])
def test_what_is_no_json_object_is_refused_naming_file_and_line(tmp_path: Path, content: str, line: int) -> None:
    path = written(tmp_path, 'kb.jsonl', content)
    assert refusal(path).startswith(f'{path}, line {line}: ')


@pytest.mark.parametrize('row', ['c,,,,,,q,,x,more', 'c,,,,,,q', 'c'])
def test_a_csv_row_with_a_wrong_number_of_cells_is_refused_naming_file_and_line(tmp_path: Path, row: str) -> None:
    path = written(tmp_path, 'kb.csv', f'{CSV}{row}\n')
    message = refusal(path)
    assert message.startswith(f'{path}, line 4: ')
    assert 'cells' in message


def test_a_csv_quote_left_open_is_refused_naming_file_and_line(tmp_path: Path) -> None:
    """In a large file the open cell swallows more than the csv module accepts."""
    for rows in (3, 20_000):
        content = CSV + '"open,,,,,,q,,x\n' + ''.join(f'c{number},,,,,,q,,x\n' for number in range(rows))
        path = written(tmp_path, f'{rows}.csv', content)
        assert refusal(path).startswith(f'{path}, line ')
