from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros import packaged
from pace_ros.cache import Lexicon, LexiconError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / 'volatile.en.txt').write_text('# prices\n\\bprices?\\b\n\n  today  \n', encoding='utf-8')
    (tmp_path / 'volatile.zh.txt').write_text('价格|多少钱\n', encoding='utf-8')
    return tmp_path


@pytest.mark.parametrize(
    ('question', 'locale', 'volatile'),
    [
        ('What is the PRICE?', 'en-US', True),
        ('Ｐｒｉｃｅ？', 'en', True),
        ('priceless', 'en', False),
        ('is it open TODAY', 'en-GB', True),
        ('这车多少钱？', 'zh-CN', True),
        ('这车多长？', 'zh', False),
        ('# prices', 'en', True),
        ('#', 'en', False),
    ],
)
def test_a_question_is_volatile_iff_a_pattern_of_its_language_matches(
    folder: Path, question: str, locale: str, *, volatile: bool
) -> None:
    verdict = Lexicon.read(folder).classify(question, locale)
    assert verdict.volatile is volatile
    assert verdict.reason


@pytest.mark.parametrize('locale', ['fr-FR', '', 'ja'])
def test_a_language_without_patterns_is_judged_by_all_of_them(folder: Path, locale: str) -> None:
    lexicon = Lexicon.read(folder)
    assert lexicon.classify('le price', locale).volatile
    assert lexicon.classify('多少钱', locale).volatile
    assert not lexicon.classify('bonjour', locale).volatile


def test_a_line_that_is_no_pattern_is_refused_with_file_and_line(folder: Path) -> None:
    (folder / 'volatile.en.txt').write_text('price\n# comment\n(stock\n', encoding='utf-8')
    with pytest.raises(LexiconError, match=r"volatile\.en\.txt, line 3: '\(stock' is no pattern"):
        Lexicon.read(folder)


def test_a_folder_without_a_lexicon_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LexiconError, match=tmp_path.name):
        Lexicon.read(tmp_path)


def test_a_byte_order_mark_does_not_disable_the_first_pattern(folder: Path) -> None:
    (folder / 'volatile.en.txt').write_text('price\n', encoding='utf-8-sig')
    assert Lexicon.read(folder).classify('the price', 'en').volatile


def test_a_lexicon_that_is_not_utf8_is_refused_by_name(folder: Path) -> None:
    (folder / 'volatile.zh.txt').write_bytes('价格\n'.encode('gb18030'))
    with pytest.raises(LexiconError, match=r'volatile\.zh\.txt'):
        Lexicon.read(folder)


@pytest.mark.parametrize(
    ('question', 'locale'),
    [
        ('How much does the Heron cost?', 'en-US'),
        ('Any promotion this week?', 'en-US'),
        ('Is a red one in stock?', 'en-US'),
        ('When can it be delivered? How soon?', 'en-US'),
        ('What time do you close today?', 'en-US'),
        ('苍鹭卖什么价？', 'zh-CN'),
        ('最近有什么优惠？', 'zh-CN'),
        ('红色的有现车吗？', 'zh-CN'),
        ('现在订什么时候能提车？', 'zh-CN'),
        ('今天几点关门？', 'zh-CN'),
    ],
)
def test_the_shipped_lexicon_knows_price_promotion_stock_delivery_and_today(question: str, locale: str) -> None:
    assert Lexicon.read(packaged.config_dir() / 'lexicon').classify(question, locale).volatile


@pytest.mark.parametrize(
    ('question', 'locale'),
    [('How long is the Heron?', 'en-US'), ('苍鹭车长多少？', 'zh-CN'), ('Who are you?', 'en-US')],
)
def test_the_shipped_lexicon_leaves_lasting_facts_alone(question: str, locale: str) -> None:
    assert not Lexicon.read(packaged.config_dir() / 'lexicon').classify(question, locale).volatile
