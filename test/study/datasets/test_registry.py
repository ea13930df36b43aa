"""Data sets by name, from the caller's folder, and the public ones where they lie."""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pace_ros.study.carqa import CarQAError
from pace_ros.study.carqa.files import shipped
from pace_ros.study.datasets import FOLDER, NAMES, DataSetError, World, load
from pace_ros.study.workload import steady, stream

DATA = Path(__file__).resolve().parents[4] / 'shared/data'
BANK = '{"text": "Where is my card?", "intent": "card_arrival"}\n'


def test_the_folder_comes_from_the_caller_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    with pytest.raises(DataSetError, match=f"data set 'banking77': say with --data or {FOLDER} where"):
        load('banking77')
    (tmp_path / 'banking77_en.jsonl').write_text(BANK)
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert load('banking77').seeds[0].text == 'Where is my card?'
    with pytest.raises(DataSetError, match=r'gone is no folder'):
        load('banking77', tmp_path / 'gone')


def test_an_unknown_name_is_told_the_known_ones() -> None:
    assert NAMES == ('carqa', 'carqa-volatile', 'cmrc2018', 'dureader', 'xquad', 'banking77', 'crosswoz', 'evergreen')
    with pytest.raises(DataSetError, match=r'no data set .squad.: give a \.jsonl file, a folder .*, or one of '):
        load('squad')


def test_a_folder_that_carqa_wrote_is_a_data_set(tmp_path: Path) -> None:
    mine = tmp_path / 'mine'
    shutil.copytree(shipped(), mine)
    assert load(str(mine)).seeds == load('carqa').seeds
    assert load(str(mine)).names_file == mine / 'names.yaml'
    with pytest.raises(CarQAError, match=r'seeds\.jsonl cannot be read'):
        load(str(tmp_path))


@pytest.mark.parametrize(('name', 'meanings'), [
    ('cmrc2018', 1000), ('dureader', 90), ('xquad', 500), ('banking77', 40), ('crosswoz', 300), ('evergreen', 900),
])
def test_a_public_set_fills_a_stream_that_the_world_understands(name: str, meanings: int) -> None:
    if not DATA.is_dir():
        pytest.skip(f'needs the public data in {DATA}')
    data = load(name, DATA)
    assert len({each.meaning for each in data.seeds}) >= meanings
    direct = [each for each in data.knowledge if not each.is_passage]
    assert len(direct) == pytest.approx(len({each.meaning for each in data.seeds}) / 2, abs=1)
    entries = {each.entry_id for each in data.knowledge}
    assert all(entries >= set(each.sources) for each in data.seeds)
    requests = stream(data, steady(4, 2.0, seed=0, measured=200), seed=0)
    assert len({each.question.text for each in requests}) > 170
    world = World(data)
    assert all(world.question(each.question.text) == each.question for each in requests)
    known = {text for each in direct for texts in each.questions.values() for text in texts}
    assert not [each.question.text for each in requests if each.question.text in known]
