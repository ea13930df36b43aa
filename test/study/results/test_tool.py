"""The report as a command: what it writes, what it says, what it refuses."""
from __future__ import annotations

import argparse
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from study.results.made_rows import made_rows

from pace_ros.study.refusal import refusing
from pace_ros.study.results.figures import ORDER
from pace_ros.study.results.tool import add_arguments, run

SOME = ('pure-llm', 'gptcache-library', 'pace-static', 'pace-full', 'pace-gated', 'pace-plus', 'a1', 'a2-fixed')
TABLES = {'endpoint', 'table_iv', 'table_v', 'table_vi', 'table_vii', 'table_viii', 'gate', 'ratios', 'plus', 'library',
          'spot', 'seeds'}
PLAN = {'plan': {'time': 'fixed', 'seeds': [1, 2, 3], 'cloud': {'gap_mean': 0.03}, 'note': '<b>|'},
        'machine': {'cores': 2}, 'data': {'carqa': 7}, 'versions': {'numpy': '2.0'},
        'arms': {'pace-static': {'filler.mode': 'fixed', 'router.mode': 'static', 'volatility.policy': 'off'}}}


def report(*arguments: str | Path) -> int:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return refusing('study report', lambda: run(parser.parse_args([str(each) for each in arguments])))


class Page(HTMLParser):
    """Collects what a page would fetch, its scripts, its identifiers, and what refers to them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [str(value) for name, value in attrs if name in ('src', 'href', 'xlink:href')]
        self.ids += [str(value) for name, value in attrs if name == 'id']
        if tag in ('script', 'link', 'iframe', 'object', 'img'):
            self.fetched.append(tag)


@pytest.fixture(scope='module')
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with all parts and its report."""
    folder = tmp_path_factory.mktemp('run')
    made_rows(12, arms=SOME, offered=(16,)).to_parquet(folder / 'requests.parquet')
    (folder / 'plan.json').write_text(json.dumps(PLAN), encoding='utf-8')
    assert report(folder, '--format', 'csv,html') == 0
    return folder


def test_every_table_and_figure_is_there(whole: Path) -> None:
    files = {each.name for each in (whole / 'report').iterdir()}
    assert files == {f'{name}.csv' for name in TABLES} | {'methods.md', 'report.html'}
    text = (whole / 'report/report.html').read_text(encoding='utf-8')
    assert all(f'id="{name}-' in text for name in ORDER)


def test_the_page_needs_nothing_beside_itself(whole: Path) -> None:
    text = (whole / 'report/report.html').read_text(encoding='utf-8')
    page = Page(text)
    assert all(each.startswith('#') for each in page.fetched), page.fetched
    assert {each[1:] for each in page.fetched} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert text.count('<figure>') == len(ORDER)
    assert 'url(http' not in text
    assert '@import' not in text
    assert 'prefers-color-scheme: dark' in text
    for words in ('Confirmatory: PTFR P95 at c = 16', 'Table VIII: transfer', 'paper: 94.0%', '&lt;b&gt;|',
                  'What virtual time cannot show'):
        assert words in text


def test_the_methods_say_what_was_run_and_where_it_differs(whole: Path) -> None:
    text = (whole / 'report/methods.md').read_text(encoding='utf-8')
    assert '| campaign | carqa (7) | 8 | 16 | 1, 2, 3 | 288 | ' in text
    assert '| gap_mean | 0.03 |' in text
    assert 'virtual time, computing charged at fixed cost' in text
    assert "The paper's own text was not at hand" in text
    assert '| plan.note | <b>\\| |' in text
    assert '| PACE-static | static | fixed | off | on | on | on | on |' in text
    assert str(whole) not in text


@pytest.fixture(scope='module')
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a campaign alone, with two arms."""
    folder = tmp_path_factory.mktemp('part')
    rows = made_rows(6, arms=('pure-llm', 'pace-full'), offered=(8,))
    rows.loc[rows['part'] == 'campaign'].to_parquet(folder / 'requests.parquet')
    return folder


def test_the_same_rows_give_the_same_bytes(part: Path, tmp_path: Path) -> None:
    for formats in ('csv,svg', 'png,csv,svg'):
        assert report(part, '--format', formats, '--out', tmp_path / formats) == 0
    one, other = ({each.name: each.read_bytes() for each in folder.iterdir() if each.suffix != '.png'}
                  for folder in tmp_path.iterdir())
    assert one == other
    pictures = {each.stem for each in tmp_path.glob('*/*.png')}
    assert pictures == {'figure_2', 'waterfall', 'figure_3', 'figure_4', 'quality_latency'}


def test_a_run_of_one_part_says_what_it_lacks(part: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(part, '--format', 'terminal') == 0
    shown = capsys.readouterr().out
    assert 'The confirmatory endpoint needs PACE-full and PACE-static' in shown
    assert 'This run has no volatility part.' in shown
    assert not (part / 'report').exists()


@pytest.mark.parametrize(('files', 'words'), [
    ({}, 'requests.parquet: no such file; "study run" writes it'),
    ({'requests.parquet': 'no table'}, 'requests.parquet: cannot be read as Parquet'),
    ({'plan.json': '[1'}, 'plan.json: cannot be read as JSON'),
    ({'plan.json': '[1]'}, 'plan.json: must hold an object'),
    ({'published.yaml': 'numbers: [{table: IV}]'}, 'published.yaml: number 1'),
])
def test_what_cannot_be_read_is_named(
    files: dict[str, str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if files and 'requests.parquet' not in files:
        made_rows(1, arms=('pure-llm',), offered=(1,)).to_parquet(tmp_path / 'requests.parquet')
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding='utf-8')
    numbers = ('--published', tmp_path / 'published.yaml') if 'published.yaml' in files else ()
    assert report(tmp_path, '--format', 'terminal', *numbers) == 2
    assert words in capsys.readouterr().err


def test_an_unknown_format_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match='2'):
        report(tmp_path, '--format', 'pdf')
    assert "'pdf': choose from terminal,csv,png,svg,html, or all" in capsys.readouterr().err


def test_a_request_that_stands_twice_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = made_rows(2, arms=('pace-static', 'pace-full'), offered=(16,))
    rows.loc[[*rows.index, *rows.index]].to_parquet(tmp_path / 'requests.parquet')
    assert report(tmp_path, '--format', 'terminal') == 2
    assert 'A request stands twice' in capsys.readouterr().err
