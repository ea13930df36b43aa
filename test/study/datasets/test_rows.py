"""Every refusal names file, place and field."""
from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros.study.datasets.rows import DataSetError, Row, csv_rows, json_file, json_lines

ROW = Row('f, line 1', {
    'text': ' a ', 'blank': ' ', 'number': 1, 'texts': ['a', '', ' '], 'bad': ['a', 1], 'flag': True,
    'rows': [{'b': 1}], 'surrogate': '\ud83d', 'none': None,
})


def test_fields_are_checked_when_asked_for() -> None:
    assert ROW.text('text') == 'a'
    assert ROW.texts('texts') == ('a',)
    assert ROW.texts('missing') == ROW.texts('none') == ()
    assert ROW.flag('flag')
    assert ROW.flag('missing', default=False) is False
    assert [(each.where, each.fields) for each in ROW.rows('rows')] == [('f, line 1, rows[0]', {'b': 1})]


@pytest.mark.parametrize(('method', 'name', 'message'), [
    ('text', 'missing', 'is missing'), ('text', 'none', 'is missing'), ('text', 'blank', 'must be a text'),
    ('text', 'number', 'must be a text that can be written, not 1'), ('text', 'surrogate', 'must be a text'),
    ('texts', 'text', 'must be a list of texts'), ('texts', 'bad', 'must be a text that can be written, not 1'),
    ('flag', 'missing', 'is missing'), ('flag', 'number', 'must be true or false, not 1'),
    ('rows', 'bad', 'must be a list of objects'), ('rows', 'number', 'must be a list of objects'),
])
def test_what_does_not_fit_is_named(method: str, name: str, message: str) -> None:
    with pytest.raises(DataSetError, match=f"^f, line 1, field '{name}': {message}"):
        getattr(ROW, method)(name)


@pytest.mark.parametrize(('read', 'content', 'message'), [
    (json_lines, b'{"a": 1}\n\n{"a"\n', 'line 3: is no JSON'),
    (json_lines, b'[1]\n', 'line 1: must be a JSON object, not list'),
    (json_lines, b'\xff\n', 'cannot be read'),
    (json_file, b'{', 'is no JSON'),
    (json_file, b'"text"', 'must be a JSON object, not str'),
    (csv_rows, b'a,b\n"' + b'x' * 200_000, 'line 1: is no CSV'),
])
def test_broken_files(tmp_path: Path, read: object, content: bytes, message: str) -> None:
    path = tmp_path / 'data'
    path.write_bytes(content)
    with pytest.raises(DataSetError, match=message) as refused:
        read_all(read, path)
    assert str(refused.value).startswith(str(path))
    with pytest.raises(DataSetError, match='gone: cannot be read: No such file'):
        read_all(read, tmp_path / 'gone')


def read_all(read: object, path: Path) -> list[object]:
    assert callable(read)
    return list(read(path)) if read is not json_file else [read(path)]


def test_a_list_is_read_as_data_and_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / 'list.json'
    path.write_text('\ufeff [{"a": "b"}]', encoding='utf-8')
    assert json_file(path).rows('data')[0].text('a') == 'b'
