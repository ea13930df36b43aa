from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros import packaged
from pace_ros.config import LOCALES
from pace_ros.llm import Exchange, PersonaError, PromptBook
from pace_ros.retrieval import KnowledgeEntry, RetrievalHit

PERSONA = """
zh: {persona: 你是小凡。, plain: 请简短回答。, passages: 资料：}
en: {persona: You are Fan., plain: Answer briefly., passages: "Notes:"}
"""


@pytest.fixture
def book(tmp_path: Path) -> PromptBook:
    return PromptBook.read(written(tmp_path, PERSONA))


def written(folder: Path, text: str) -> Path:
    path = folder / 'persona.yaml'
    path.write_text(text, encoding='utf-8')
    return path


def hit(**answers: str) -> RetrievalHit:
    return RetrievalHit(KnowledgeEntry(entry_id='e', questions={}, answers=answers), 0.9)


def messages(book: PromptBook, locale: str = 'en-US', **parts: object) -> list[dict[str, str]]:
    given = {'passages': (), 'history': (), 'persona': True, **parts}
    return book.messages('How far does it go?', locale, **given)  # type: ignore[arg-type]


def test_a_bare_question(book: PromptBook) -> None:
    assert messages(book) == [
        {'role': 'system', 'content': 'You are Fan.'},
        {'role': 'user', 'content': 'How far does it go?'},
    ]


def test_everything_in_its_place(book: PromptBook) -> None:
    history = [Exchange('Hi', 'Hello!'), Exchange('Which car?', 'The Orvane One.')]
    assert messages(book, passages=[hit(en='500 km.'), hit(en='80 kWh.')], history=history) == [
        {'role': 'system', 'content': 'You are Fan.\n\nNotes:\n- 500 km.\n- 80 kWh.'},
        {'role': 'user', 'content': 'Hi'},
        {'role': 'assistant', 'content': 'Hello!'},
        {'role': 'user', 'content': 'Which car?'},
        {'role': 'assistant', 'content': 'The Orvane One.'},
        {'role': 'user', 'content': 'How far does it go?'},
    ]


def test_without_persona_the_model_is_nobody(book: PromptBook) -> None:
    assert messages(book, persona=False)[0]['content'] == 'Answer briefly.'
    informed = messages(book, persona=False, passages=[hit(en='500 km.')])
    assert informed[0]['content'] == 'Answer briefly.\n\nNotes:\n- 500 km.'


@pytest.mark.parametrize(
    ('locale', 'opening'),
    [('zh-CN', '你是小凡。'), ('zh', '你是小凡。'), ('zh_TW', '你是小凡。'), ('ZH-cn', '你是小凡。'),
     ('en-GB', 'You are Fan.'), ('fr-FR', 'You are Fan.'), ('', 'You are Fan.')],
)
def test_the_wording_is_the_visitors_language_else_english(book: PromptBook, locale: str, opening: str) -> None:
    assert messages(book, locale)[0]['content'] == opening


def test_a_passage_is_in_the_visitors_language_else_in_any(book: PromptBook) -> None:
    passages = [hit(zh='五百公里', en='500 km'), hit(zh='八十度电')]
    assert messages(book, passages=passages)[0]['content'].endswith('Notes:\n- 500 km\n- 八十度电')
    assert messages(book, 'zh-CN', passages=passages)[0]['content'].endswith('资料：\n- 五百公里\n- 八十度电')


def test_braces_and_markup_in_a_question_are_only_text(book: PromptBook) -> None:
    question = '{persona} %s ${HOME} </s> <|im_end|>'
    asked = book.messages(question, 'en-US', passages=[hit(en='{0} %d')], history=[], persona=True)
    assert asked[-1] == {'role': 'user', 'content': question}
    assert asked[0]['content'].endswith('- {0} %d')


def test_the_book_does_not_keep_what_it_was_given(book: PromptBook) -> None:
    first = messages(book, history=[Exchange('a', 'b')])
    first[0]['content'] = 'spoilt'
    assert messages(book) == [
        {'role': 'system', 'content': 'You are Fan.'},
        {'role': 'user', 'content': 'How far does it go?'},
    ]


@pytest.mark.parametrize('name', ['persona.yaml', 'persona.local_llm.yaml'])
def test_the_packaged_personas_speak_every_locale(name: str) -> None:
    book = PromptBook.read(packaged.config_dir() / name)
    for locale in LOCALES:
        for persona in (True, False):
            assert messages(book, locale, persona=persona)[0]['content']


def test_the_packaged_persona_differs_by_language() -> None:
    book = PromptBook.read(packaged.config_dir() / 'persona.yaml')
    assert '小凡' in messages(book, 'zh-CN')[0]['content']
    assert 'Orvane' in messages(book, 'en-US')[0]['content']


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('', "'en'"),
        ('[1, 2]', "'en'"),
        ('zh: {persona: a, plain: b, passages: c}', "'en'"),
        ('en: hello', "field 'en'"),
        ('en: {persona: a, plain: b}', r"field 'en\.passages'"),
        ('en: {persona: 3, plain: b, passages: c}', r"field 'en\.persona'"),
        ('en: {persona: a, plain: b, passages: c}\nzh: {persona: a, passages: c}', r"field 'zh\.plain'"),
        ('en: {persona: a', 'cannot be read'),
        ('en: !!python/object/apply:os.getcwd []', 'cannot be read'),
    ],
)
def test_a_bad_persona_file_is_named_with_its_field(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(PersonaError, match=words) as caught:
        PromptBook.read(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_absent_or_not_utf8_is_named(tmp_path: Path) -> None:
    with pytest.raises(PersonaError, match=r'absent\.yaml'):
        PromptBook.read(tmp_path / 'absent.yaml')
    latin = tmp_path / 'latin.yaml'
    latin.write_bytes('en: {persona: é}'.encode('latin-1'))
    with pytest.raises(PersonaError, match=r'latin\.yaml'):
        PromptBook.read(latin)
    with pytest.raises(PersonaError, match=tmp_path.name):
        PromptBook.read(tmp_path)
