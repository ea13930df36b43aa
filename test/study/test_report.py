"""The report as a command: what it writes, what it says, what it refuses."""
from __future__ import annotations

import argparse
import re
from html.parser import HTMLParser
from pathlib import Path as FilePath

import pandas as pd
import pytest
from study_sessions import ANSWER, onset, showroom, turn, write_bag, write_log

from pace_ros.study.report import add_arguments, run
from pace_ros.turn import Modality, Path

ASKED = f'{4:08x}{1:024x}'  # the fifth turn of the first robot


def report(*arguments: str | FilePath) -> int:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args([str(each) for each in arguments]))


class Links(HTMLParser):
    """Collects what a page would fetch, and its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [str(value) for name, value in attrs if name in ('src', 'href', 'xlink:href')]
        self.ids += [str(value) for name, value in attrs if name == 'id']
        if tag in ('script', 'link', 'iframe', 'object'):
            self.found.append(tag)


@pytest.fixture(scope='module')
def two_robots(tmp_path_factory: pytest.TempPathFactory) -> tuple[FilePath, FilePath]:
    folder = tmp_path_factory.mktemp('sessions')
    return (write_bag(folder / 'one', *showroom(30, seed=1), namespace='/robot1'),
            write_bag(folder / 'two', *showroom(20, seed=2, slow=2.0), namespace='/robot2'))


@pytest.fixture(scope='module')
def written(two_robots: tuple[FilePath, FilePath], tmp_path_factory: pytest.TempPathFactory) -> FilePath:
    """A folder with the files of a report on both robots."""
    folder = tmp_path_factory.mktemp('report')
    formats = ('--format', 'csv,parquet,png,svg,html')
    assert report(*two_robots, '--by', 'robot', *formats, '--turn', ASKED, '--out', folder) == 0
    return folder


def test_two_robots_stand_side_by_side(
    two_robots: tuple[FilePath, FilePath], capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(*two_robots, '--by', 'robot') == 0
    shown = capsys.readouterr().out
    assert '50 turns' in shown
    assert re.search(r'speech +│ observed +│ robot2', shown)
    assert 'From command to motion' in shown


def test_every_file_is_written(written: FilePath) -> None:
    names = {path.name for path in written.iterdir()}
    assert {'turns.csv', 'turns.parquet', 'onsets.csv', 'summary.csv', 'motion.csv', 'latencies.parquet',
            'distributions.png', 'quantiles.svg', 'pl_alpha.png', 'paths.svg', 'motion.png', f'timeline_{ASKED}.png',
            'report.html'} <= names
    assert all(path.stat().st_size > 0 for path in written.iterdir())
    assert set(pd.read_csv(written / 'summary.csv')['group']) == {'robot1', 'robot2'}
    assert len(pd.read_parquet(written / 'turns.parquet')) == 50


def test_the_page_needs_nothing_beside_itself(written: FilePath) -> None:
    page = (written / 'report.html').read_text(encoding='utf-8')
    links = Links()
    links.feed(page)
    assert all(each.startswith('#') for each in links.found)
    assert {each[1:] for each in links.found} <= set(links.ids)
    assert not re.search(r'url\((?!#)', page)
    assert set(re.findall(r'https?://[\w./]+', page)) <= {'http://www.w3.org/2000/svg', 'http://www.w3.org/1999/xlink'}
    assert page.count('<svg') == 6
    assert 'prefers-color-scheme: dark' in page


def test_a_page_shows_what_was_said_as_text_and_only_where_the_source_holds_it(tmp_path: FilePath) -> None:
    record = turn('a', text='<script>alert("你好")</script>', answer='Guten Tag & hello')
    onset(record, Modality.SPEECH, ANSWER, 1.2, detail='Guten Tag & hello')
    full = write_log(tmp_path / 'full.jsonl', [record])
    assert report(full, '--format', 'html', '--turn', 'a', '--out', tmp_path) == 0
    page = (tmp_path / 'report.html').read_text(encoding='utf-8')
    assert '&lt;script&gt;alert(&#34;你好&#34;)&lt;/script&gt;' in page
    assert '<script' not in page
    assert 'Guten Tag &amp; hello' in page
    mute = write_log(tmp_path / 'mute.jsonl', [record], keep_text=False)
    assert report(mute, '--format', 'html', '--turn', 'a', '--out', tmp_path) == 0
    page = (tmp_path / 'report.html').read_text(encoding='utf-8')
    assert '你好' not in page
    assert 'Guten' not in page


@pytest.mark.parametrize(('count', 'by'), [(0, None), (0, 'arm'), (1, None), (3, 'day')])
@pytest.mark.filterwarnings('error::RuntimeWarning', 'error::FutureWarning')
def test_the_report_on_failures_and_on_nothing(tmp_path: FilePath, count: int, by: str | None) -> None:
    records = [turn(f't{each}', path=Path.UNKNOWN) for each in range(count)]
    log = write_log(tmp_path / 'log.jsonl', records) if records else tmp_path / 'log.jsonl'
    log.touch()
    grouping = ('--by', by) if by else ()
    assert report(log, '--format', 'terminal,csv,parquet,html', '--out', tmp_path / 'out', *grouping) == 0
    page = (tmp_path / 'out' / 'report.html').read_text(encoding='utf-8')
    assert ('There are no turns' in page) == (count == 0)


def test_the_same_seed_gives_the_same_report(two_robots: tuple[FilePath, FilePath], tmp_path: FilePath) -> None:
    for name in ('one', 'two'):
        assert report(two_robots[0], '--format', 'csv', '--seed', '3', '--out', tmp_path / name) == 0
    assert len(list((tmp_path / 'one').iterdir())) > 8
    for path in (tmp_path / 'one').iterdir():
        assert path.read_bytes() == (tmp_path / 'two' / path.name).read_bytes()


def test_a_chosen_turn_is_shown(two_robots: tuple[FilePath, FilePath], capsys: pytest.CaptureFixture[str]) -> None:
    assert report(two_robots[0], two_robots[1], '--turn', ASKED[:9]) == 2
    assert '2 turns begin so' in capsys.readouterr().err
    assert report(two_robots[0], '--turn', '00000004') == 0
    shown = capsys.readouterr().out
    assert 'Turn 00000004 (asked for)' in shown
    assert 'acknowledgement (nod)' in shown


@pytest.mark.parametrize(('content', 'arguments', 'sentence'), [
    (None, (), 'gone.jsonl: no such file or folder'),
    (b'\x00\x01\x02', (), 'gone.jsonl: neither a bag nor a log of turns'),
    (b'', ('--turn', 'x'), '--turn x: no such turn'),
])
def test_what_cannot_be_done_is_one_sentence(
    tmp_path: FilePath, capsys: pytest.CaptureFixture[str], content: bytes | None, arguments: tuple[str, ...],
    sentence: str
) -> None:
    path = tmp_path / 'gone.jsonl'
    if content is not None:
        path.write_bytes(content)
    assert report(path, *arguments) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count('\n') == 1


def test_a_folder_that_cannot_be_written_is_named(tmp_path: FilePath, capsys: pytest.CaptureFixture[str]) -> None:
    log = write_log(tmp_path / 'log.jsonl', [turn('a', 1.0)])
    assert report(log, '--format', 'csv', '--out', log / 'inside') == 2
    assert 'log.jsonl' in capsys.readouterr().err


def test_an_unknown_format_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        report('x', '--format', 'pdf')
    assert 'choose from terminal,csv,parquet,png,svg,html, or all' in capsys.readouterr().err
