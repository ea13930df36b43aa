from __future__ import annotations

import datetime
from typing import Any

import pytest

from pace_ros.retrieval import KnowledgeEntry, KnowledgeError
from pace_ros.retrieval.parse import entry_of

WHERE = 'kb.yaml, line 7'
GOOD: dict[str, Any] = {'id': 'range', 'questions': {'en': ['How far?']}, 'answer': {'en': 'Far.'}}


def test_every_field_is_read() -> None:
    fields = {
        'id': 'range',
        'topic': 'vehicles',
        'volatile': True,
        'source': 'brochure',
        'valid_until': '2027-12-31',
        'questions': {'zh': ['多远？', ' 续航 '], 'en': 'How far?'},
        'answer': {'zh-CN': ' 很远。 ', 'en_US': 'Far.'},
    }
    entry = entry_of(fields, WHERE)
    assert entry == KnowledgeEntry(
        entry_id='range',
        questions={'zh': ('多远？', '续航'), 'en': ('How far?',)},
        answers={'zh': '很远。', 'en': 'Far.'},
        topic='vehicles',
        volatile=True,
        source='brochure',
        valid_until=datetime.date(2027, 12, 31),
    )
    assert (entry.answer('zh-TW'), entry.answer('en'), entry.answer('fr')) == ('很远。', 'Far.', None)
    assert entry.text('fr') in {'很远。', 'Far.'}
    assert not entry.is_passage


def test_what_is_left_out_has_its_default() -> None:
    entry = entry_of(GOOD, WHERE)
    assert (entry.topic, entry.source, entry.volatile, entry.valid_until) == ('', '', False, None)


@pytest.mark.parametrize(
    ('value', 'meaning'), [(True, True), (False, False), ('true', True), ('FALSE ', False), ('', False)]
)
def test_a_flag_may_be_written_as_a_word(value: object, *, meaning: bool) -> None:
    assert entry_of({**GOOD, 'volatile': value}, WHERE).volatile is meaning


def test_a_passage_has_no_questions() -> None:
    answers = {'zh': '后备箱有三百升。', 'en': 'It holds 300 l.'}
    entry = entry_of({'id': 'boot', 'passage': True, 'answer': answers}, WHERE)
    assert entry.is_passage
    assert entry.answers == answers


@pytest.mark.parametrize('value', [datetime.date(2027, 2, 28), '2027-02-28'])
def test_a_date_may_be_a_date_or_its_text(value: object) -> None:
    assert entry_of({**GOOD, 'valid_until': value}, WHERE).valid_until == datetime.date(2027, 2, 28)


@pytest.mark.parametrize(
    ('change', 'field'),
    [
        ({'id': None}, 'id'),
        ({'id': ''}, 'id'),
        ({'id': ' \u200b'}, 'id'),
        ({'id': 12}, 'id'),
        ({'colour': 'red'}, 'colour'),
        ({3: 'red'}, '3'),
        ({'topic': 5}, 'topic'),
        ({'topic': '  '}, 'topic'),
        ({'source': ['a']}, 'source'),
        ({'volatile': 1}, 'volatile'),
        ({'volatile': 'maybe'}, 'volatile'),
        ({'volatile': None}, 'volatile'),
        ({'passage': True}, 'questions'),
        ({'passage': 'yes'}, 'passage'),
        ({'valid_until': 'soon'}, 'valid_until'),
        ({'valid_until': '2027-02-30'}, 'valid_until'),
        ({'valid_until': '31.12.2027'}, 'valid_until'),
        ({'valid_until': 2027}, 'valid_until'),
        ({'valid_until': datetime.datetime(2027, 1, 1, 12, tzinfo=datetime.timezone.utc)}, 'valid_until'),
        ({'questions': None}, 'questions'),
        ({'questions': {}}, 'questions'),
        ({'questions': ['How far?']}, 'questions'),
        ({'questions': {'en': []}}, 'questions.en'),
        ({'questions': {'en': None}}, 'questions.en'),
        ({'questions': {'en': {'a': 'b'}}}, 'questions.en'),
        ({'questions': {'zh': ['多远', '']}}, 'questions.zh'),
        ({'questions': {'zh': ['\u3000']}}, 'questions.zh'),
        ({'questions': {'zh': ['多远', 3]}}, 'questions.zh'),
        ({'answer': None}, 'answer'),
        ({'answer': 'Far.'}, 'answer'),
        ({'answer': {}}, 'answer'),
        ({'answer': {'en': ''}}, 'answer.en'),
        ({'answer': {'en': '\n'}}, 'answer.en'),
        ({'answer': {'en': ['Far.']}}, 'answer.en'),
        ({'answer': {'en': 'half an emoji \ud83d'}}, 'answer.en'),
        ({'questions': {'en': ['half an emoji \ud83d']}}, 'questions.en'),
    ],
)
def test_a_bad_field_is_refused_naming_place_and_field(change: dict[Any, Any], field: str) -> None:
    with pytest.raises(KnowledgeError) as refusal:
        entry_of({**GOOD, **change}, WHERE)
    assert str(refusal.value).startswith(f"{WHERE}, field '{field}': ")


@pytest.mark.parametrize('missing', ['id', 'questions', 'answer'])
def test_a_missing_field_is_refused_naming_it(missing: str) -> None:
    with pytest.raises(KnowledgeError, match=f"^{WHERE}, field '{missing}': "):
        entry_of({name: value for name, value in GOOD.items() if name != missing}, WHERE)


@pytest.mark.parametrize('fields', [None, 'text', 5, ['id', 'range']])
def test_what_is_no_mapping_is_refused(fields: object) -> None:
    with pytest.raises(KnowledgeError, match=f'^{WHERE}: an entry must be a mapping'):
        entry_of(fields, WHERE)


@pytest.mark.parametrize('name', ['questions', 'answer'])
def test_two_spellings_of_one_language_are_refused_lest_one_be_lost(name: str) -> None:
    value = ['How far?'] if name == 'questions' else 'Far.'
    with pytest.raises(KnowledgeError, match=f"^{WHERE}, field '{name}"):
        entry_of({**GOOD, name: {'en': value, 'en-US': value}}, WHERE)


def test_an_entry_is_valid_to_the_end_of_its_last_day() -> None:
    entry = entry_of({**GOOD, 'valid_until': '2027-06-30'}, WHERE)
    assert entry.is_valid(datetime.date(2027, 6, 30))
    assert not entry.is_valid(datetime.date(2027, 7, 1))
    assert entry_of(GOOD, WHERE).is_valid(datetime.date.max)
