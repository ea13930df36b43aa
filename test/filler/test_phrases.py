from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import yaml

from pace_ros import packaged
from pace_ros.filler import PhraseBook, PhraseError, rejection

GOOD: dict[str, object] = {
    'pieces': [['Good question', 'Oh'], ['!', ', one moment.']],
    'placeholders': ['Hm.', 'Ah.'],
    'instruction': ' Say. ',
}


def written(path: Path, **languages: object) -> Path:
    path.write_text(yaml.safe_dump(languages, allow_unicode=True), encoding='utf-8')
    return path


def without(name: str, **others: object) -> dict[str, object]:
    return {key: value for key, value in {**GOOD, **others}.items() if key != name}


def test_pieces_are_combined_in_order(tmp_path: Path) -> None:
    phrases = PhraseBook.read(written(tmp_path / 'p.yaml', en=GOOD), 30).of('en-US')
    assert phrases.options('') == ['Good question!', 'Good question, one moment.', 'Oh!', 'Oh, one moment.']
    assert phrases.placeholders == ('Hm.', 'Ah.')
    assert phrases.instruction == 'Say.'


def test_options_avoid_the_opening_of_the_last_filler(tmp_path: Path) -> None:
    phrases = PhraseBook.read(written(tmp_path / 'p.yaml', en=GOOD), 30).of('en')
    assert phrases.options('Good question!') == ['Oh!', 'Oh, one moment.']
    assert len(phrases.options('Hm.')) == 4, 'a placeholder excludes no opening'
    single = PhraseBook.read(written(tmp_path / 'p.yaml', en={**GOOD, 'pieces': [['Oh'], ['!', '.']]}), 30).of('en')
    assert single.options('Oh!'), 'there is always something to say'


def test_a_language_without_phrases_falls_back_on_english(tmp_path: Path) -> None:
    book = PhraseBook.read(written(tmp_path / 'p.yaml', en=GOOD, zh={**GOOD, 'placeholders': ['嗯。', '哦。']}), 30)
    assert book.languages() == ['en', 'zh']
    assert book.of('fr-FR') is book.of('en')
    assert book.of('zh_Hant') is book.of('zh-CN')
    assert book.of('ZH').placeholders == ('嗯。', '哦。')


@pytest.mark.parametrize(
    ('fields', 'words'),
    [
        ('text', ['field en', 'must be a mapping']),
        (without('pieces'), ['field en.pieces', 'list of lists']),
        ({**GOOD, 'pieces': []}, ['field en.pieces']),
        ({**GOOD, 'pieces': [[]]}, ['field en.pieces']),
        ({**GOOD, 'pieces': [['Oh', 7]]}, ['field en.pieces']),
        ({**GOOD, 'pieces': ['Oh']}, ['field en.pieces']),
        (without('placeholders'), ['field en.placeholders', 'at least two different']),
        ({**GOOD, 'placeholders': ['Hm.']}, ['field en.placeholders']),
        ({**GOOD, 'placeholders': ['Hm.', 'Hm.']}, ['field en.placeholders']),
        (without('instruction'), ['field en.instruction', 'must be text']),
        ({**GOOD, 'placeholders': ['Hm.', 'It has 5 seats.']}, ["'It has 5 seats.'", 'has a digit']),
        ({**GOOD, 'pieces': [['Oh'], [', let me check.']]}, ["'Oh, let me check.'", 'announces a search']),
        ({**GOOD, 'pieces': [['x' * 20], ['y' * 20]]}, ['longer than 30']),
    ],
)
def test_a_bad_phrase_file_is_refused_by_name_and_field(tmp_path: Path, fields: object, words: list[str]) -> None:
    path = written(tmp_path / 'p.yaml', en=fields)
    with pytest.raises(PhraseError) as refusal:
        PhraseBook.read(path, 30)
    assert all(word in str(refusal.value) for word in [str(path), *words])


@pytest.mark.parametrize('content', [b'', b'- a list', b'zh: {}', b'{', b'\xff\xfe'])
def test_a_file_that_is_no_phrase_book(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / 'p.yaml'
    path.write_bytes(content)
    with pytest.raises(PhraseError, match=r'p\.yaml'):
        PhraseBook.read(path, 30)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(PhraseError, match=r'none\.yaml cannot be read'):
        PhraseBook.read(tmp_path / 'none.yaml', 30)


def test_the_shipped_book() -> None:
    book = PhraseBook.read(packaged.config_dir() / 'fillers.yaml', 30)
    assert set(book.languages()) == {'zh', 'en'}
    for name in book.languages():
        phrases = book.of(name)
        texts = [*phrases.options(''), *phrases.placeholders]
        assert len(phrases.options('')) > 5
        assert len(texts) == len(set(texts))
        assert not any(rejection(text, 30) for text in texts)
        for one, other in itertools.product(phrases.options(''), repeat=2):
            assert one == other or not other.startswith(one), 'no filler is the beginning of another'
