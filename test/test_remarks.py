from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pace_ros import packaged
from pace_ros.config import LOCALES
from pace_ros.language import detect_locale, is_blank
from pace_ros.remarks import KINDS, RemarkError, Remarks

TEXTS = {
    'zh': {'apology': '抱歉。', 'interrupted': '断了。', 'acted': '办了。', 'repeat': '请再说。'},
    'en': {'apology': 'Sorry.', 'interrupted': 'Lost it.', 'acted': 'Tried.', 'repeat': 'Again, please.'},
}


def written(tmp_path: Path, content: object) -> Path:
    path = tmp_path / 'remarks.yaml'
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, allow_unicode=True), 'utf-8')
    return path


def said(remarks: Remarks, locale: str) -> dict[str, str]:
    return {kind: getattr(remarks, kind)(locale) for kind in KINDS}


def test_every_language_has_its_own_and_the_others_have_english(tmp_path: Path) -> None:
    remarks = Remarks.read(written(tmp_path, TEXTS))
    for locale in ('zh-CN', 'zh', 'ZH_tw'):
        assert said(remarks, locale) == TEXTS['zh']
    for locale in ('en-US', 'en', 'fr-FR', ''):
        assert said(remarks, locale) == TEXTS['en']


@pytest.mark.parametrize('locale', LOCALES)
def test_the_shipped_remarks_are_in_the_language_of_the_visitor(locale: str) -> None:
    remarks = Remarks.read(packaged.config_dir() / 'remarks.yaml')
    texts = list(said(remarks, locale).values())
    assert len(set(texts)) == len(KINDS)
    assert all(detect_locale(text, '') == locale and not is_blank(text) for text in texts)


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('value', [None, 3, ['Sorry.'], '', '  '])
def test_a_remark_that_is_no_text_is_refused_naming_file_and_field(tmp_path: Path, kind: str, value: object) -> None:
    """Blank included: the robot is never silent."""
    path = written(tmp_path, {**TEXTS, 'zh': {**TEXTS['zh'], kind: value}})
    with pytest.raises(RemarkError, match=rf"remarks\.yaml, field 'zh\.{kind}'"):
        Remarks.read(path)


@pytest.mark.parametrize('content', ['', '- a', 'text', {'zh': TEXTS['zh']}, '{broken', 'en: [1'])
def test_a_file_without_english_remarks_is_refused_by_name(tmp_path: Path, content: object) -> None:
    with pytest.raises(RemarkError, match=r'remarks\.yaml'):
        Remarks.read(written(tmp_path, content))


def test_a_language_without_remarks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RemarkError, match=r"field 'zh\.apology'"):
        Remarks.read(written(tmp_path, {**TEXTS, 'zh': 'Sorry.'}))


def test_an_absent_or_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RemarkError, match=r'absent\.yaml cannot be read'):
        Remarks.read(tmp_path / 'absent.yaml')
    path = tmp_path / 'remarks.yaml'
    path.write_bytes('价格'.encode('gb18030'))
    with pytest.raises(RemarkError, match=r'remarks\.yaml cannot be read'):
        Remarks.read(path)
