"""What cannot be done is one sentence and exit code 2; what is broken is not hidden."""
from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from pace_ros.settings import ConfigError
from pace_ros.study import main
from pace_ros.study.refusal import Refusal, refusing


def raising(error: BaseException) -> Callable[[], int]:
    def run() -> int:
        raise error
    return run


@pytest.mark.parametrize(('error', 'said'), [
    (Refusal('there is no such thing.'), 'there is no such thing.'),
    (ConfigError("'l0.size' must be positive."), "'l0.size' must be positive."),
    (OSError(errno.ENOSPC, 'No space left on device', '/x/y'), '/x/y: No space left on device'),
    (OSError('odd'), 'odd'),
])
def test_a_refusal_is_a_sentence(capsys: pytest.CaptureFixture[str], error: Exception, said: str) -> None:
    assert refusing('study run', raising(error)) == 2
    assert capsys.readouterr().err == f'study run: {said}\n'


@pytest.mark.parametrize('error', [
    ValueError('a mistake'), KeyError('x'), ImportError('y'), BrokenPipeError(), KeyboardInterrupt(),
])
def test_a_mistake_is_no_refusal(error: BaseException) -> None:
    with pytest.raises(type(error)):
        refusing('study run', raising(error))


def test_a_result_is_handed_on() -> None:
    assert refusing('study run', lambda: 1) == 1


@pytest.mark.parametrize('words', [
    ['run', 'campaign', '--out', 'x', '--arms', 'nobody'], ['report', 'gone'], ['compare', 'gone', 'gone'],
    ['spot', 'gone'], ['judge', 'gone'], ['gate', 'gone'], ['calibrate', 'gone'], ['carqa', 'gone', '--check'],
    ['cloud', '--dataset', 'nothing'], ['serving', 'report', 'gone'], ['fillers', 'gone/file'],
])
def test_every_command_refuses_in_its_own_name(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.chdir(str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main.main(words)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f'study {words[0]}: ')
    assert said.count('\n') == 1
