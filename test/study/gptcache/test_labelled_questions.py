"""Labelled sets from small files of the public formats, whose right answers are known."""
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.gptcache import labelled_questions as sets
from pace_ros.study.gptcache.labelled_questions import Unavailable

DATA = Path(__file__).parents[4] / 'shared/data'


def write(folder: Path, name: str, rows: Iterable[Mapping[str, object]]) -> None:
    lines = (json.dumps(row, ensure_ascii=False) + '\n' for row in rows)
    (folder / f'{name}.jsonl').write_text(''.join(lines), encoding='utf-8')


def asked(name: str, place: int, entity: str, slot: str, *, leans: bool) -> dict[str, object]:
    return {'id': name, 'question': f'{"它" if leans else entity}的{slot}是什么？', 'domain': '餐馆', 'slot': slot,
            'entity': entity, 'context_dependent': leans, 'turn': place}


def test_crosswoz_pairs_by_venue_and_slot(tmp_path: Path) -> None:
    write(tmp_path, 'crosswoz_kb_zh', [{'名称': '讲礼驴肉馆'}, {'名称': '东来顺饭庄'}])
    write(tmp_path, 'crosswoz_questions_zh', [
        asked('1', 2, '讲礼驴肉馆', '地址', leans=True), asked('2', 4, '东来顺饭庄', '地址', leans=True),
        asked('3', 4, '东来顺饭庄', '评分', leans=False),
    ])
    write(tmp_path, 'crosswoz_pairs_zh', [
        {'a_id': '1', 'b_id': '2', 'kind': 'same_text_other_entity', 'same_answer': False},
        {'a_id': '1', 'b_id': '2', 'kind': 'same_slot_wording', 'same_answer': True},
        {'a_id': '1', 'b_id': '3', 'kind': 'other_entity_same_slot', 'same_answer': False},
        {'a_id': '1', 'b_id': 'none', 'kind': 'other_slot', 'same_answer': False},
    ])
    data = sets.crosswoz(tmp_path)
    assert [labels for _, labels in data.known] == [{'讲礼驴肉馆/地址'}]
    assert [labels for _, labels in data.asked] == [{'东来顺饭庄/地址'}, {'讲礼驴肉馆/地址'}, {'东来顺饭庄/评分'}]
    (known, _), (other, _), (same, _), (named, _) = (*data.known, *data.asked)
    assert known.text == other.text == same.text
    assert known.scope == same.scope
    assert known.scope is None or known.scope != other.scope
    assert named.scope == 'zh'


def test_timeqa_the_first_of_a_group_is_known(tmp_path: Path) -> None:
    write(tmp_path, 'timeqa_nearmiss_en', [
        {'group': 'g', 'question': 'Who led in 1990?', 'answers': ['Ann']},
        {'group': 'g', 'question': 'Who led in 1995?', 'answers': ['Bob', 'Ann']},
        {'group': 'h', 'question': 'Who won in 1990?', 'answers': ['Ann']},
    ])
    data = sets.timeqa(tmp_path)
    assert [each.text for each, _ in data.known] == ['Who led in 1990?', 'Who won in 1990?']
    assert [labels for _, labels in data.asked] == [{'g/Ann', 'g/Bob'}]


def test_xquad_half_of_the_asked_have_an_answer(tmp_path: Path) -> None:
    write(tmp_path, 'xquad_noise_en_zh', [
        {'question_en': f'Q{n}?', **{form: f'{form} {n}' for form in sets.NOISE}} for n in range(16)
    ])
    data = sets.xquad(tmp_path)
    known = {label for _, labels in data.known for label in labels}
    assert known == {str(n) for n in range(0, 16, 2)}
    assert [each.text for each, labels in data.asked if labels <= known] == [
        f'{form} {n}' for n in (0, 8) for form in sets.NOISE]
    assert len(data.asked) == 12


def test_banking_train_is_known_and_each_third_of_test_asked(tmp_path: Path) -> None:
    write(tmp_path, 'banking77_en', [
        {'text': f'{split} {n}', 'intent': f'i{n}', 'split': split} for split in ('train', 'test') for n in range(4)
    ])
    data = sets.banking(tmp_path)
    assert len(data.known) == 4
    assert [(each.text, labels) for each, labels in data.asked] == [('test 0', {'i0'}), ('test 3', {'i3'})]


@pytest.mark.parametrize('locale', ['zh', 'en'])
def test_the_showroom_every_asked_question_has_its_entry_known(locale: str) -> None:
    data = sets.showroom(locale)
    known = [labels for _, labels in data.known]
    assert len(set(known)) == len(known) > 50
    assert {labels for _, labels in data.asked} <= set(known)
    assert {each.locale for each, _ in (*data.known, *data.asked)} == {locale}


def test_a_data_set_of_which_each_third_seed_is_unknown() -> None:
    seeds = tuple(Question(f's{n}', f'What does part {n} cost?', 'en-US', f'm{n}', f'{n} euro') for n in range(6))
    others = tuple(Question(f'p{n}', f'The price of part {n}?', 'en-US', f'm{n}', f'{n} euro', 'lexical')
                   for n in range(6))
    data = sets.of_data_set(DataSet('Parts', '1', seeds, others), 'en', 2)
    assert [labels for _, labels in data.known] == [{'m1'}, {'m2'}, {'m4'}, {'m5'}]
    assert [labels for _, labels in data.asked] == [{'m0'}, {'m2'}, {'m4'}]
    assert data.name == 'Parts, paraphrases (en)'


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r'banking77_en\.jsonl'):
        sets.banking(tmp_path)


def test_every_public_set_can_be_read() -> None:
    if not (DATA / 'crosswoz_pairs_zh.jsonl').is_file():
        pytest.skip(f'the public data are not in {DATA}')
    for read in (sets.crosswoz, sets.timeqa, sets.xquad, sets.banking):
        data = read(DATA)
        assert len(data.known) > 100
        assert len(data.asked) > 100
