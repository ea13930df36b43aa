"""`cache`: what is in the semantic cache, why it was admitted, how often it hit and when it expires."""
from __future__ import annotations

import argparse
import contextlib
import datetime
import logging
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pace_ros.cache.cache_file import CacheFileError
from pace_ros.cache.entry import CacheEntry, StoredEntry
from pace_ros.cache.exchange import BadLine, entry_of, line_of
from pace_ros.cache.semantic_cache import SemanticCache
from pace_ros.cache.store import FORMAT, Store
from pace_ros.cache.stored_row import Row
from pace_ros.clock import Clock, SystemClock
from pace_ros.config import Config
from pace_ros.embedding import DegenerateText, Embedder, EmbeddingError, open_embedder

FAILED = 1
UNBOUNDED = 1_000_000  # the node makes room by its own capacity when it starts
PAGE = 500
COLUMNS = ('id', 'age', 'expires in', 'hits', 'reason', 'category', 'scope', 'question')
UNITS = (('d', 86_400), ('h', 3_600), ('min', 60))


class ToolError(RuntimeError):
    """What cannot be done; the message says why."""


def main(
    argv: list[str] | None = None, *, clock: Clock | None = None, embedder: Callable[[], Embedder] | None = None
) -> int:
    """Run the command; returns the exit code. Without ``embedder`` the packaged encoder is loaded where it is due."""
    logging.basicConfig(format='%(message)s', level=logging.WARNING)
    options = arguments(argv)
    encoder = embedder or (lambda: open_embedder(Config().embedding))
    tool = Tool(options.file.expanduser(), clock or SystemClock(), encoder)
    try:
        return int(options.run(tool, options) or 0)
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        return 0
    except (ToolError, CacheFileError, EmbeddingError, OSError, sqlite3.Error) as error:
        sys.stderr.write(f'cache: {error}\n')
        return FAILED


def default_file() -> Path:
    """Where the node keeps its cache if not told otherwise."""
    return Path(os.environ.get('PACE_DATA_DIR') or '~/.local/share/pace_ros') / 'l0.sqlite'


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog='cache', description=__doc__)
    parser.add_argument('--file', type=Path, default=default_file(), help='(default: %(default)s)')
    commands = parser.add_subparsers(required=True, metavar='COMMAND')

    def command(name: str, run: Callable[..., int | None], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        added.add_argument('--file', type=Path, default=argparse.SUPPRESS, help='the cache file')
        return added

    command('list', Tool.list, 'One line an entry; separated by tabs unless on a terminal.')
    command('show', Tool.show, 'Everything about some entries.').add_argument('ids', type=int, nargs='+', metavar='ID')
    command('stats', Tool.stats, 'How many entries there are, of which kinds, and how often they hit.')
    command('export', Tool.export, 'Every entry as a line of JSON, without vectors.').add_argument(
        'output', type=Path, nargs='?', metavar='FILE', help='(default: standard output)')
    command('import', Tool.import_, 'Add the entries of exported lines; the node must not run.').add_argument(
        'input', type=Path, metavar='FILE', help='JSON lines, - for standard input')
    command('remove', Tool.remove, 'Remove some entries; the node must not run.').add_argument(
        'ids', type=int, nargs='+', metavar='ID')
    words = sys.argv[1:] if argv is None else argv
    if '--ros-args' in words:  # a launch file may add them
        words = words[:words.index('--ros-args')]
    return parser.parse_args(words)


class Tool:
    """The commands on one file. Those that only read need no lock: they see the file of a running node as it is."""

    def __init__(self, file: Path, clock: Clock, embedder: Callable[[], Embedder]) -> None:
        self._file = file
        self._clock = clock
        self._embedder = embedder

    def list(self, _options: argparse.Namespace) -> None:
        """One line an entry."""
        now = self._clock.wall()
        lines = ((
            str(each.entry_id), span(now - each.entry.written), until(each.entry.expires, now), str(each.hits),
            each.entry.reason, each.entry.category, each.entry.scope, ' '.join(each.entry.question.split()),
        ) for each in self._entries())
        console = Console(markup=False, highlight=False, emoji=False)
        if console.is_terminal:
            table = Table(*COLUMNS, box=None)
            for line in lines:
                table.add_row(*line)
            console.print(table)
            return
        self._say('\t'.join(COLUMNS))
        for line in lines:
            self._say('\t'.join(line))

    def show(self, options: argparse.Namespace) -> int:
        """Everything about some entries."""
        now, found = self._clock.wall(), {}
        with self._reading() as store:
            for entry_id in options.ids:
                if row := store.read(entry_id):
                    found[entry_id] = StoredEntry(row.entry_id, row.entry, row.hits, row.last_hit)
        for each in found.values():
            for name, value in described(each, now):
                self._say(f'{name + ":":<11} {value}')
            self._say('')
        return self._report_missing(set(options.ids) - found.keys())

    def stats(self, _options: argparse.Namespace) -> None:
        """How many entries there are, of which kinds, and how often they hit."""
        now, hits = self._clock.wall(), 0
        counts: dict[str, Counter[str]] = {kind: Counter() for kind in ('scope', 'category', 'reason')}
        whole = Counter[str]()
        for each in self._entries():
            whole['entries'] += 1
            whole['used'] += each.hits > 0
            whole['expired'] += each.entry.expires is not None and each.entry.expires <= now
            hits += each.hits
            for kind, counter in counts.items():
                counter[getattr(each.entry, kind) or '-'] += 1
        size = sum(path.stat().st_size for part in ('', '-wal') if (path := Path(f'{self._file}{part}')).exists())
        self._say(f'{whole["entries"]} entries, {whole["used"]} of them used, {whole["expired"]} expired; {hits} hits; '
                  f'{size / 1e6:.1f} MB')
        for kind, counter in counts.items():
            self._say(f'by {kind}:')
            for name, count in counter.most_common():
                self._say(f'  {count:>7}  {name}')

    def export(self, options: argparse.Namespace) -> None:
        """Every entry as a line of JSON."""
        with contextlib.ExitStack() as open_files:
            write = self._say
            if options.output is not None:
                file = open_files.enter_context(options.output.open('w', encoding='utf-8'))
                write = lambda line: file.write(line + '\n')  # noqa: E731  one of two places
            for each in self._entries():
                write(line_of(each))

    def import_(self, options: argparse.Namespace) -> int:
        """Add the entries of exported lines; those that are none are named."""
        try:
            text = sys.stdin.read() if str(options.input) == '-' else options.input.read_text(encoding='utf-8')
        except UnicodeDecodeError as error:
            raise ToolError(f'{options.input} is not UTF-8: {error}') from error
        encoder = self._embedder()
        if self._file.exists():
            self._check_encoder(encoder)
        refused = imported = 0
        with self._writing(encoder.dimension, encoder.fingerprint) as cache:
            for number, line in enumerate(text.split('\n'), start=1):
                if not line.strip():
                    continue
                try:
                    self._admit(cache, encoder, entry_of(line, self._clock.wall()))
                    imported += 1
                except (BadLine, DegenerateText) as error:
                    refused += 1
                    sys.stderr.write(f'line {number}: {error}\n')
        self._say(f'{imported} entries imported, {refused} refused')
        return FAILED if refused else 0

    def remove(self, options: argparse.Namespace) -> int:
        """Remove some entries."""
        with self._reading() as store:
            meta = store.meta()
            missing = {entry_id for entry_id in options.ids if store.read(entry_id) is None}
        with self._writing(int(meta['dimension']), meta['embedder']) as cache:
            self._say(f'{cache.remove(options.ids)} entries removed')
        return self._report_missing(missing)

    # -- inside -----------------------------------------------------------------------------------------------------

    def _say(self, line: str) -> None:
        sys.stdout.write(line + '\n')

    def _report_missing(self, ids: set[int]) -> int:
        for entry_id in sorted(ids):
            sys.stderr.write(f'cache: there is no entry {entry_id}\n')
        return FAILED if ids else 0

    def _entries(self) -> Iterator[StoredEntry]:
        with self._reading() as store:
            after = 0
            while page := store.page(after, PAGE):
                after = page[-1].entry_id
                for each in page:
                    if isinstance(each, Row):
                        yield StoredEntry(each.entry_id, each.entry, each.hits, each.last_hit)
                    else:
                        sys.stderr.write(f'cache: {each}\n')

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Store]:
        if not self._file.is_file():
            raise ToolError(f'there is no cache file {self._file}')
        store = Store(self._file, reading=True)
        try:
            if (found := store.meta().get('format')) != str(FORMAT):
                raise ToolError(f'the format of {self._file} is {found}, not {FORMAT}')
            yield store
        except sqlite3.Error as error:
            raise ToolError(f'{self._file} cannot be read: {error}') from error
        finally:
            store.close()

    @contextlib.contextmanager
    def _writing(self, dimension: int, fingerprint: str) -> Iterator[SemanticCache]:
        try:
            cache = SemanticCache(
                dimension=dimension, capacity=UNBOUNDED, half_life=Config().l0.half_life, clock=self._clock,
                file=self._file, fingerprint=fingerprint,
            )
        except CacheFileError as error:
            raise ToolError(f'{error}: stop the node first' if 'in use' in str(error) else str(error)) from error
        with contextlib.closing(cache):
            yield cache

    def _check_encoder(self, encoder: Embedder) -> None:
        with self._reading() as store:
            if (of_file := store.meta().get('embedder')) != encoder.fingerprint:
                raise ToolError(f'{self._file} was written with encoder {of_file!r}, not {encoder.fingerprint!r}: '
                                'import into a new file')

    def _admit(self, cache: SemanticCache, encoder: Embedder, entry: CacheEntry) -> None:
        if not cache.admit(entry, encoder.embed(entry.question)):
            if cache.error:
                raise ToolError(f'{self._file} cannot be written: {cache.error}')
            raise BadLine('question, answer or scope holds what no text can')


def described(each: StoredEntry, now: float) -> list[tuple[str, str]]:
    """Everything about an entry, by name."""
    entry = each.entry
    return [
        ('id', str(each.entry_id)), ('question', entry.question), ('answer', entry.answer), ('scope', entry.scope),
        ('sources', ', '.join(f'{source.entry_id} (version {source.version})' for source in entry.sources) or 'none'),
        ('written', f'{moment(entry.written)}, {span(now - entry.written)} ago'),
        ('expires', 'never' if entry.expires is None
         else f'{moment(entry.expires)}, in {until(entry.expires, now)}'.replace('in expired', 'expired')),
        ('admitted', entry.reason or 'no reason known'), ('category', entry.category or 'stable'),
        ('hits', str(each.hits) + ('' if each.last_hit is None else f', last {span(now - each.last_hit)} ago')),
    ]


def span(seconds: float) -> str:
    """A duration in its largest unit."""
    for unit, length in UNITS:
        if abs(seconds) >= length:
            return f'{seconds / length:.1f} {unit}'
    return f'{seconds:.0f} s'


def until(expires: float | None, now: float) -> str:
    """How long an entry lives on."""
    return 'never' if expires is None else 'expired' if expires <= now else span(expires - now)


def moment(wall: float) -> str:
    """A wall time in the local zone."""
    return datetime.datetime.fromtimestamp(wall).astimezone().isoformat(sep=' ', timespec='seconds')


if __name__ == '__main__':
    sys.exit(main())
