"""Pattern files: sections, places, and no pattern that may run away."""
from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.cache.patterns import Line, PatternError, PatternLists


def written(folder: Path, text: str, name: str = 'words.en.txt') -> Path:
    (folder / name).write_text(text, encoding='utf-8')
    return folder


def test_a_line_is_found_with_its_section_and_number(tmp_path: Path) -> None:
    lists = PatternLists.read(written(tmp_path, '# comment\n\n[price]\n\\bcosts?\\b\n[now]\n  today  \n'), 'words')
    assert lists.find('What does it COST?', 'en-US') == Line(r'\bcosts?\b', 'price', 4)
    assert lists.find('open today', 'en') == Line('today', 'now', 6)
    assert lists.find('costly', 'en') is None
    assert lists.sections == {'price', 'now'}


def test_of_several_lines_the_first_counts(tmp_path: Path) -> None:
    lists = PatternLists.read(written(tmp_path, '[b]\ntoday\n[a]\nprice\n'), 'words')
    found = lists.find('the price today', 'en')
    assert found is not None
    assert found.section == 'b'


def test_a_line_before_any_section_has_none(tmp_path: Path) -> None:
    assert PatternLists.read(written(tmp_path, 'price\n'), 'words').find('price', 'en') == Line('price', '', 1)


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    (tmp_path / 'words.en.txt').write_text('[price]\nprice', encoding='utf-8-sig')
    assert PatternLists.read(tmp_path, 'words').find('price', 'en') == Line('price', 'price', 2)


@pytest.mark.parametrize('bad', ['(stock', 'stock)', r'\k', '[a-', '*'])
def test_a_bad_pattern_names_file_and_line(tmp_path: Path, bad: str) -> None:
    with pytest.raises(PatternError, match=r'words\.en\.txt, line 2: .* is no pattern: '):
        PatternLists.read(written(tmp_path, f'good\n{bad}\n'), 'words')


@pytest.mark.parametrize('bad', ['(?=price)x', '(?!x)y', '(?<=a)b', '(?<!a)b', r'(a)\1'])
def test_what_would_need_backtracking_is_refused_with_a_sentence(tmp_path: Path, bad: str) -> None:
    with pytest.raises(PatternError, match=r'words\.en\.txt, line 1: .* is no pattern: .{5,}\.'):
        PatternLists.read(written(tmp_path, bad), 'words')


@pytest.mark.parametrize('pattern', ['(a+)+$', '(a|a)*$', '(a*)*b$', '(a|aa)+$', '(.*)*x$'])
def test_no_pattern_runs_away_on_a_long_text(tmp_path: Path, pattern: str) -> None:
    """A backtracking engine would take longer than the age of the universe; the bound is loose on purpose."""
    lists = PatternLists.read(written(tmp_path, f'{pattern}\n'), 'words')
    begin = time.process_time()
    lists.find('a' * 50_000 + '!b', 'en')
    assert time.process_time() - begin < 5.0


def test_a_missing_list_is_named(tmp_path: Path) -> None:
    with pytest.raises(PatternError, match=r'no words\.<language>\.txt'):
        PatternLists.read(tmp_path, 'words')


def test_a_file_without_patterns_finds_nothing(tmp_path: Path) -> None:
    assert PatternLists.read(written(tmp_path, '# nothing yet\n'), 'words').find('price', 'en') is None


@given(before=st.text(max_size=50), after=st.text(max_size=50))
def test_a_pattern_is_found_wherever_it_stands(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str
) -> None:
    lists = PatternLists.read(written(tmp_path_factory.getbasetemp(), '多少钱\n'), 'words')
    assert lists.find(f'{before}多少钱{after}', 'en') is not None
