from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros import packaged
from pace_ros.facts import NamesError, ProductNames
from pace_ros.facts.names import Name
from pace_ros.facts.numerals import plain

SHIPPED = ProductNames.read(packaged.config_dir() / 'names.yaml')
LARK, HERON, BISON = ('model', 'lark'), ('model', 'heron'), ('model', 'bison')
CORE, PLUS, MAX = ('trim', 'core'), ('trim', 'plus'), ('trim', 'max')


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / 'names.yaml'


@pytest.mark.parametrize(('text', 'names'), [
    ('What does the Lark cost?', (LARK,)),
    ('the LARK', (LARK,)),
    ('Ｌａｒｋ', (LARK,)),
    ("the Lark's trunk", (LARK,)),
    ('the Lark’s trunk', (LARK,)),
    ('How many Larks are there?', (LARK,)),
    ('larkspur, skylark, Lark2', ()),
    ('云雀多少钱？', (LARK,)),
    ('云雀Max和苍鹭标准版', (LARK, HERON, MAX, CORE)),
    ('云雀顶配', (LARK, MAX)),
    ('Is the Heron faster than the Lark?', (HERON, LARK)),
    ('Is the Lark faster than the Heron? The Lark!', (LARK, HERON)),
    ('Is a red one in stock?', (('color', 'red'),)),
    ('有红色的吗', (('color', 'red'),)),
    ('Snow White and Pearl White', (('color', 'white'),)),
    ('', ()),
])
def test_products_are_named_in_any_spelling_and_kept_in_order(text: str, names: tuple[Name, ...]) -> None:
    assert SHIPPED.find(plain(text)) == names


@pytest.mark.parametrize(('text', 'names'), [
    ('The Lark Plus', (LARK, PLUS)),
    ('Is the Plus worth it?', (PLUS,)),
    ('A trunk plus a front trunk', ()),
    ('The max speed is the core question', ()),
    ('how much is the plus', (PLUS,)),
    ('How much is the lark plus?', (LARK, PLUS)),
    ("What is the bison's max?", (BISON, MAX)),
    ('Is the heron core or plus better?', (HERON, CORE, PLUS)),
    ('云雀plus多少钱', (LARK, PLUS)),
])
def test_an_everyday_word_is_a_name_where_it_is_written_or_placed_as_one(text: str, names: tuple[Name, ...]) -> None:
    assert SHIPPED.find(plain(text)) == names


def test_every_mention_has_its_place() -> None:
    found = list(SHIPPED.mentions('Lark, Lark Plus'))
    assert [('Lark, Lark Plus'[start:end], name) for name, start, end in found] == [
        ('Lark', ('model', 'lark')), ('Lark', ('model', 'lark')), ('Plus', ('trim', 'plus')),
    ]


def test_the_longest_spelling_wins() -> None:
    names = ProductNames(
        {'X5': ('model', 'x5'), 'X5 Long': ('model', 'x5l'), '汉': ('model', 'han'), '汉L': ('model', 'hanl')})
    assert names.find('the x5 long') == (('model', 'x5l'),)
    assert names.find('the x5 is long') == (('model', 'x5'),)
    assert names.find('汉L和汉') == (('model', 'hanl'), ('model', 'han'))


def test_without_names_nothing_is_found(file: Path) -> None:
    file.write_text('{}\n', encoding='utf-8')
    assert ProductNames.read(file).find('the Lark') == ()


@pytest.mark.parametrize(('content', 'message'), [
    ('', 'must map kinds to names'),
    ('- Lark', 'must map kinds to names'),
    ('model: [Lark]', "field 'model': must map names"),
    ('model: {lark: Lark}', r"field 'model\.lark': must be a list of spellings"),
    ('model: {lark: [1]}', r"field 'model\.lark': must be a list of spellings"),
    ('model: {lark: [" "]}', r"field 'model\.lark': must be a list of spellings"),
    ('model: {lark: [Lark], heron: [LARK]}', r"field 'model\.heron': 'LARK' is also another name"),
    ('model: {lark: [Lark]}\ntrim: {lark: [Lark]}', r"field 'trim\.lark': 'Lark' is also another name"),
    ('everyday: Plus', "field 'everyday': must be a list"),
    ('everyday: [Plus]', "field 'everyday': 'Plus' is no spelling of a name"),
    ('model: [', 'cannot be read'),
])
def test_a_malformed_file_is_refused_with_file_and_field(file: Path, content: str, message: str) -> None:
    file.write_text(content, encoding='utf-8')
    with pytest.raises(NamesError, match=message) as caught:
        ProductNames.read(file)
    assert str(file) in str(caught.value)


def test_a_file_that_is_absent_or_not_utf8_is_refused_by_name(file: Path) -> None:
    with pytest.raises(NamesError, match=r'names\.yaml'):
        ProductNames.read(file)
    file.write_bytes('model: {lark: [云雀]}'.encode('gb18030'))
    with pytest.raises(NamesError, match=r'names\.yaml'):
        ProductNames.read(file)


@given(before=st.text(max_size=10), after=st.text(max_size=10))
def test_a_chinese_name_is_found_in_any_surroundings(before: str, after: str) -> None:
    assert HERON in SHIPPED.find(plain(f'{before}苍鹭{after}'))


@given(text=st.text(st.characters(exclude_categories=()) | st.sampled_from("Plusmax云雀 'İß"), max_size=40))
def test_any_text_can_be_searched(text: str) -> None:
    found = SHIPPED.find(plain(text))
    assert len(set(found)) == len(found)
    assert set(found) <= set(SHIPPED._names.values())
