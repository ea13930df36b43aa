from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pace_ros.cache import tool
from pace_ros.cache.entry import CacheEntry, Source
from pace_ros.cache.semantic_cache import SemanticCache
from pace_ros.clock import VirtualClock
from pace_ros.embedding import DegenerateText, Vector

START = 1_800_000_000.0


class HashEmbedder:
    """A vector for every text, far from all others."""

    dimension = 32
    fingerprint = 'hash-32'

    def embed(self, text: str) -> Vector:
        if not any(map(str.isalnum, text)):
            raise DegenerateText('the text has neither letter nor digit')
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], 'big')
        vector = np.random.default_rng(seed).standard_normal(self.dimension)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)

    embed_passage = embed


ENTRIES = (
    CacheEntry('How far does it go?', 'About 500 km.', 'en', (Source('range', '3'), Source('lark', '1')), START - 7200,
               None, 'stable'),
    CacheEntry('云雀多少钱？', '十万元。\u2028起。', 'zh', (), START - 90, START + 1800, 'price: ttl 1890 s', 'price'),
    CacheEntry('two\nlines', 'x', 'en', (), START - 86_400 * 3, START - 1, 'stock: ttl', 'stock'),
)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(wall=START)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / 'l0.sqlite'


@pytest.fixture
def run(file: Path, clock: VirtualClock, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*arguments: object) -> tuple[int, str, str]:
        code = tool.main(['--file', str(file), *map(str, arguments)], clock=clock, embedder=HashEmbedder)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def opened(file: Path, clock: VirtualClock) -> SemanticCache:
    return SemanticCache(
        dimension=32, capacity=10, half_life=10.0, clock=clock, file=file, fingerprint=HashEmbedder.fingerprint
    )


@pytest.fixture
def cache(file: Path, clock: VirtualClock) -> SemanticCache:
    """A running node's, with three entries; the first was used twice."""
    cache = opened(file, clock)
    for entry in ENTRIES:
        assert cache.admit(entry, HashEmbedder().embed(entry.question))
    clock.advance(5)
    cache.recall_exact('how far does it go', 'en')
    cache.recall_exact('how far does it go', 'en')
    cache.flush()
    return cache


def test_listing_a_running_node_s_cache(cache: SemanticCache, run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run('list')
    assert code == 0
    assert [line.split('\t') for line in out.splitlines()] == [
        ['id', 'age', 'expires in', 'hits', 'reason', 'category', 'scope', 'question'],
        ['1', '2.0 h', 'never', '2', 'stable', '', 'en', 'How far does it go?'],
        ['2', '1.6 min', '29.9 min', '0', 'price: ttl 1890 s', 'price', 'zh', '云雀多少钱？'],
        ['3', '3.0 d', 'expired', '0', 'stock: ttl', 'stock', 'en', 'two lines'],
    ]
    cache.close()


def test_showing_all_of_an_entry(cache: SemanticCache, run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run('show', 1, 2)
    assert code == 0
    for told in ('How far does it go?', 'About 500 km.', 'range (version 3), lark (version 1)', '2.0 h ago', 'never',
                 '2, last 0 s ago', '云雀多少钱？', '十万元。', 'price: ttl 1890 s', 'in 29.9 min', 'none'):
        assert told in out
    cache.close()


def test_statistics(cache: SemanticCache, run: Callable[..., tuple[int, str, str]]) -> None:
    _, out, _ = run('stats')
    first, *rest = out.splitlines()
    assert first.startswith('3 entries, 1 of them used, 1 expired; 2 hits; ')
    assert {'2  en', '1  zh', '1  price', '1  -', '1  stable'} <= {line.strip() for line in rest}
    cache.close()


def test_what_is_exported_is_imported_with_new_vectors(
    cache: SemanticCache, run: Callable[..., tuple[int, str, str]], tmp_path: Path, clock: VirtualClock
) -> None:
    lines = tmp_path / 'lines.jsonl'
    assert run('export', lines)[0] == 0
    assert run('export')[1] == lines.read_text(encoding='utf-8')
    assert [json.loads(line)['question'] for line in lines.read_text(encoding='utf-8').split('\n')[:-1]] == [
        entry.question for entry in ENTRIES]
    cache.close()
    other = tmp_path / 'other.sqlite'
    code, out, err = run('--file', other, 'import', lines)
    assert (code, out, err) == (1, '2 entries imported, 1 refused\n', 'line 3: expires is past\n')
    again = opened(other, clock)
    assert [each.entry for each in again.entries()] == list(ENTRIES[:2])
    assert again.recall(HashEmbedder().embed('云雀多少钱？'), 'zh', 0.99).entry == ENTRIES[1]
    again.close()


GOOD = {'question': 'q', 'answer': 'a', 'scope': 'en'}


@pytest.mark.parametrize(('line', 'why'), [
    ('{torn', 'it is no JSON: Expecting property name'),
    ('[1]', 'it is no JSON object'),
    (json.dumps({'question': 'q', 'scope': 'en'}), 'answer is missing'),
    (json.dumps(GOOD | {'answer': ' '}), 'answer is blank'),
    (json.dumps(GOOD | {'scope': 3}), 'scope must be a text, not 3'),
    (json.dumps(GOOD | {'sources': ['s']}), "sources must be a list of [id, version], not ['s']"),
    (json.dumps(GOOD | {'written': 'today'}), "written must be a time in seconds, not 'today'"),
    (json.dumps(GOOD | {'expires': float('nan')}), 'expires must be a time in seconds, not nan'),
    (json.dumps(GOOD | {'expires': 1.0}), 'expires is past'),
    (json.dumps(GOOD | {'extra': 1}), 'extra is no field of an entry'),
    (json.dumps(GOOD | {'question': '?!'}), 'the text has neither letter nor digit'),
    (json.dumps(GOOD | {'answer': 'a\0'}), 'question, answer or scope holds what no text can'),
])
def test_a_bad_line_is_named_with_its_field_and_the_others_are_imported(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, line: str, why: str
) -> None:
    lines = tmp_path / 'lines.jsonl'
    lines.write_text(f'{json.dumps(GOOD)}\n\n{line}\n', encoding='utf-8')
    code, out, err = run('import', lines)
    assert code == 1
    assert out == '1 entries imported, 1 refused\n'
    assert err.startswith(f'line 3: {why}')


def test_importing_from_standard_input(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('sys.stdin', io.StringIO(json.dumps(GOOD)))
    assert run('import', '-') == (0, '1 entries imported, 0 refused\n', '')
    assert 'q' in run('list')[1]


def test_entries_are_removed_and_missing_ones_named(
    cache: SemanticCache, run: Callable[..., tuple[int, str, str]], file: Path, clock: VirtualClock
) -> None:
    cache.close()
    code, out, err = run('remove', 1, 3, 77)
    assert (code, out, err) == (1, '2 entries removed\n', 'cache: there is no entry 77\n')
    again = opened(file, clock)
    assert [each.entry_id for each in again.entries()] == [2]
    again.close()
    assert run('show', 2)[0] == 0
    assert run('show', 1)[0] == 1


def test_a_running_node_s_cache_is_not_written(
    cache: SemanticCache, run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    lines = tmp_path / 'lines.jsonl'
    lines.write_text(json.dumps(GOOD))
    for command in (('remove', 1), ('import', lines)):
        code, out, err = run(*command)
        assert (code, out) == (1, '')
        assert 'l0.sqlite is in use by another process: stop the node first' in err
    assert len(cache) == 3
    cache.close()


@pytest.mark.parametrize('command', [('list',), ('show', 1), ('stats',), ('export',), ('remove', 1)])
def test_a_file_that_is_not_there_is_not_made(
    run: Callable[..., tuple[int, str, str]], file: Path, command: tuple[object, ...]
) -> None:
    code, _, err = run(*command)
    assert (code, err) == (1, f'cache: there is no cache file {file}\n')
    assert not file.exists()


@pytest.mark.parametrize('command', [('list',), ('stats',), ('show', 1), ('remove', 1)])
def test_a_foreign_file_is_named_and_left_alone(
    run: Callable[..., tuple[int, str, str]], file: Path, command: tuple[object, ...]
) -> None:
    file.write_bytes(b'not a cache at all')
    code, _, err = run(*command)
    assert code == 1
    assert 'l0.sqlite cannot be read' in err
    assert file.read_bytes() == b'not a cache at all'


def test_answers_of_another_encoder_are_not_mixed(
    cache: SemanticCache, run: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.close()
    lines = tmp_path / 'lines.jsonl'
    lines.write_text(json.dumps(GOOD))
    monkeypatch.setattr(HashEmbedder, 'fingerprint', 'other')
    code, _, err = run('import', lines)
    assert code == 1
    assert "'hash-32', not 'other'" in err


def test_the_default_file_is_the_node_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('PACE_DATA_DIR', '/data')
    assert tool.default_file() == Path('/data/l0.sqlite')
    monkeypatch.delenv('PACE_DATA_DIR')
    assert tool.default_file() == Path('~/.local/share/pace_ros/l0.sqlite')


@pytest.mark.parametrize(('seconds', 'text'), [(0, '0 s'), (59, '59 s'), (60, '1.0 min'), (5400, '1.5 h'),
                                               (86_400 * 10, '10.0 d')])
def test_durations_are_told_in_their_largest_unit(seconds: float, text: str) -> None:
    assert tool.span(seconds) == text
