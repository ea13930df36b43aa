from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros.files import replacing


def test_the_new_file_takes_the_old_one_s_place_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / 'sub' / 'file'
    for content in (b'one', b'two'):
        with replacing(path) as file:
            file.write(content)
        assert path.read_bytes() == content
        assert list(path.parent.iterdir()) == [path]


def test_until_the_end_and_after_an_error_the_old_one_is_there(tmp_path: Path) -> None:
    path = tmp_path / 'file'
    path.write_bytes(b'old')

    def write_half() -> None:
        with replacing(path) as file:
            file.write(b'new')
            assert path.read_bytes() == b'old'
            raise RuntimeError('halfway')

    with pytest.raises(RuntimeError, match='halfway'):
        write_half()
    assert path.read_bytes() == b'old'
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / 'file').write_bytes(b'')
    with pytest.raises(OSError, match='file'), replacing(tmp_path / 'file' / 'inside'):
        pass
