"""Answers that only admit not to know, told from answers, in both languages and as models say it."""
from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pace_ros.cache import Unknowing
from pace_ros.cache.patterns import PatternError

ROOT = Path(__file__).resolve().parents[2]
LEXICONS = ROOT / 'config' / 'lexicon'
UNKNOWING = Unknowing.read(LEXICONS)


@pytest.mark.parametrize(('answer', 'locale'), [
    ('Sorry, I do not know exactly; please ask one of the advisers.', 'en'),
    ('I don’t have that information. Please ask an adviser.', 'en'),
    ("I'm not sure about that.", 'en'),
    ('The notes do not mention a towing package.', 'en'),
    ('That is not specified in the information I have.', 'en'),
    ('抱歉，这一点我不太清楚，请向展厅顾问核实。', 'zh'),
    ('这个我也不确定，建议您问一下顾问。', 'zh'),
    ('资料里没有提到拖车钩。', 'zh'),
    ('目前没有相关信息。', 'zh'),
    ('具体价格我无法确认。', 'zh'),
])
def test_what_knows_nothing_is_told(answer: str, locale: str) -> None:
    assert UNKNOWING.admits(answer, locale).startswith('line ')


@pytest.mark.parametrize(('answer', 'locale'), [
    ('The Heron has eight airbags.', 'en'),
    ('No, the roof box is not included.', 'en'),
    ('You do not need to know the plate number; the app finds the car.', 'en'),
    ('There is no charge for parking.', 'en'),
    ('Make sure that the tailgate is closed.', 'en'),
    ('没有，云雀不提供天窗。', 'zh'),
    ('苍鹭没有拖车钩，但可以加装。', 'zh'),
    ('不用担心，质保期内免费更换。', 'zh'),
    ('清楚的标识会带您到充电区。', 'zh'),
])
def test_an_answer_is_none_of_these_even_if_it_says_no(answer: str, locale: str) -> None:
    assert UNKNOWING.admits(answer, locale) == ''


def test_nothing_the_showroom_knows_is_taken_for_ignorance() -> None:
    entries = [each for file in sorted((ROOT / 'config' / 'knowledge').glob('*.yaml'))
               for each in yaml.safe_load(file.read_text(encoding='utf-8'))]
    answers = [(text, locale) for each in entries for locale, text in each['answer'].items()]
    assert len(answers) > 100
    assert [(text, locale) for text, locale in answers if UNKNOWING.admits(text, locale)] == []


def test_a_folder_without_the_lists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PatternError, match=r'no unknowing\.<language>\.txt'):
        Unknowing.read(tmp_path)
