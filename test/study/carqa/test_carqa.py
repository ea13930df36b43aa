"""The shipped files: sizes, languages, deduplication, facts, events, and that their seed gives them."""
from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from pace_ros import packaged
from pace_ros.embedding import Embedder
from pace_ros.facts import FactExtractor, difference
from pace_ros.facts.units import agree
from pace_ros.language import language, normal_form
from pace_ros.study.carqa import CarQAError, dedup, files, load, load_volatile
from pace_ros.study.carqa.events import one_fact_changed
from pace_ros.study.carqa.tool import differences, expected
from pace_ros.study.carqa.wordings import KINDS
from pace_ros.study.datasets.question import DataSet
from pace_ros.study.datasets.world import World


@pytest.fixture(scope='module')
def data() -> DataSet:
    return load()


@pytest.fixture(scope='module')
def facts(data: DataSet) -> FactExtractor:
    assert data.names_file is not None
    return FactExtractor.read(data.names_file, packaged.config_dir() / 'antonyms.yaml')


@pytest.mark.parametrize('spoken', ['zh', 'en'])
def test_each_language_has_905_seeds_905_variants_and_4523_paraphrases(data: DataSet, spoken: str) -> None:
    mine = data.in_language(spoken)
    assert len(mine.seeds) == 905
    assert len(mine.paraphrases) == 905 + 4523
    further = Counter(each.meaning for each in mine.paraphrases)
    assert set(further) == {each.meaning for each in mine.seeds}
    assert set(further.values()) == {5, 6, 7}
    assert {each.kind for each in mine.paraphrases} == set(KINDS)


def test_every_meaning_is_asked_in_both_languages(data: DataSet) -> None:
    assert {(each.meaning, 'zh-CN') for each in data.seeds} == {
        (each.meaning, 'zh-CN') for each in data.seeds if each.locale == 'en-US'
    }
    assert {each.locale for each in data.seeds} == {'zh-CN', 'en-US'}


def test_no_two_wordings_are_the_same_text(data: DataSet) -> None:
    texts = Counter(normal_form(each.text) for each in (*data.seeds, *data.paraphrases))
    assert [text for text, number in texts.items() if number > 1] == []
    assert len({each.question_id for each in (*data.seeds, *data.paraphrases)}) == len(texts)


def test_noise_of_recognition_is_a_modest_share_and_has_no_punctuation(data: DataSet) -> None:
    noisy = [each.text for each in data.paraphrases if each.kind == 'asr']
    assert 0.05 < len(noisy) / len(data.paraphrases) < 0.15
    assert [text for text in noisy if set(text) & set('，。？！?,!')] == []


def test_no_two_seeds_of_a_language_are_near(data: DataSet, embedder: Embedder) -> None:
    by_aspect = sorted(data.seeds, key=lambda each: each.meaning.split('.')[::2])  # those near ask the same of two
    assert dedup.near_pairs(by_aspect[:600], embedder) == []
    assert dedup.near_pairs(by_aspect[:60], embedder, limit=0.7)


def test_paraphrases_name_what_their_seed_names(data: DataSet, facts: FactExtractor) -> None:
    for wordings in list(data.wordings.values())[::9]:
        asked = facts.facts(wordings[0].text, wordings[0].locale)
        for other in wordings[1:]:
            found = difference(asked, facts.facts(other.text, other.locale))
            assert found in ('', 'polarity', 'negations'), (wordings[0].text, other.text)


def test_answers_state_facts_the_same_in_both_languages(data: DataSet, facts: FactExtractor) -> None:
    answers = {(each.meaning, language(each.locale)): each.answer for each in data.seeds}
    for meaning in {each.meaning for each in data.seeds}:
        zh, en = (facts.facts(answers[meaning, key], key) for key in ('zh', 'en'))
        assert zh.quantities | zh.moments
        assert difference(zh, en) in ('', 'polarity', 'negations'), meaning


def test_sources_state_the_answer(data: DataSet, facts: FactExtractor) -> None:
    known = {entry.entry_id: entry for entry in data.knowledge}
    assert len(known) == len(data.knowledge)
    for seed in data.seeds[::4]:
        own = [known[name] for name in seed.sources if known[name].answer(seed.locale)]
        assert own
        for entry in own:
            assert entry.volatile or not seed.volatile
            told = facts.facts(entry.text(seed.locale), seed.locale)
            asked = facts.facts(seed.answer, seed.locale)
            assert all(any(agree(one, other) for other in told.quantities) for one in asked.quantities), entry
            assert asked.moments <= told.moments


def test_half_of_the_meanings_have_an_entry_with_their_seed_questions(data: DataSet) -> None:
    entries = {entry.entry_id: entry for entry in data.knowledge if entry.questions}
    assert len(entries) == 452
    for seed in data.seeds:
        if seed.meaning in entries:
            assert entries[seed.meaning].questions[language(seed.locale)] == (seed.text,)
            assert entries[seed.meaning].volatile == seed.volatile
            assert entries[seed.meaning].answer(seed.locale) == seed.answer


def test_an_event_changes_one_fact_of_one_volatile_question(facts: FactExtractor) -> None:
    volatile = load_volatile()
    asked = {(each.meaning, language(each.locale)): each for each in volatile.seeds}
    assert len(asked) == 2 * 105
    assert all(each.volatile for each in volatile.seeds)
    assert [change.number for change in volatile.changes] == list(range(1, 105))
    assert len({change.meaning for change in volatile.changes}) == 104
    world = World(volatile)
    for change in volatile.changes:
        for key, new in change.answers.items():
            old = asked[change.meaning, key].answer
            assert one_fact_changed(facts.facts(old, key), facts.facts(new, key)), (old, new)
        world.apply(change)
    changed = asked[volatile.changes[0].meaning, 'en']
    assert list(world.editions(changed)) == [changed.answer, volatile.changes[0].answers['en']]


def test_the_shipped_files_are_what_their_seed_gives(tmp_path: Path) -> None:
    shipped = files.shipped()
    right = expected(shipped)
    assert differences(shipped, right) == []
    for file in shipped.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / files.SEEDS).write_text('{}\n', encoding='utf-8')
    (tmp_path / files.CHANGES).unlink()
    assert differences(tmp_path, right) == [files.SEEDS, files.CHANGES]


def test_a_folder_without_the_files_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(CarQAError, match=r'seeds\.jsonl cannot be read'):
        load(tmp_path)
    (tmp_path / files.ORIGIN).write_text(json.dumps({'seed': 7}), encoding='utf-8')
    with pytest.raises(CarQAError, match=r'origin\.json cannot be used'):
        expected(tmp_path)
    (tmp_path / files.SEEDS).write_text('{"id": 1\n', encoding='utf-8')
    with pytest.raises(CarQAError, match=r'seeds\.jsonl, line 1: no valid JSON'):
        load(tmp_path)
