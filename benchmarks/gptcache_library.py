"""The real GPTCache library against our semantic cache, on one encoder, side by side in one run.

    scripts/campaign.sh gptcache_library [FOLDER]

FOLDER holds the public data files. Latency: in turn with ours, ratios round by round with 95 % intervals (bootstrap).
Rates: a cache is filled with some questions of a set and asked the others, each cache by itself. A *true hit* is an
answer whose label is the question's, as a share of the questions that have one in the cache; a *false hit* any other
answer, as a share of all; 95 % intervals after Wilson. Volatility rules are off, for the library has none. (Not named
gptcache.py: a script's folder is searched for modules first, and this one would stand in for the library.)
"""
from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import faiss
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import bootstrap
from statsmodels.stats.proportion import proportion_confint

from pace_ros import packaged
from pace_ros.cache import Guards
from pace_ros.config_levels import Embedding
from pace_ros.embedding import Embedder, Vector, open_embedder
from pace_ros.facts import FactExtractor, Polarity, ProductNames
from pace_ros.study.evaluation.laboratory import Remembering
from pace_ros.study.gptcache import load
from pace_ros.study.gptcache.beside import THRESHOLD, AnswerCache, Counted, LibraryCache, OurCache, counted
from pace_ros.study.gptcache.labelled_questions import Asked, LabelledSet, Unavailable, labelled_sets

FOLDER = Path('../shared/data')
MEMORY = Path('/dev/shm')  # noqa: S108  a file system without a disk
ROUNDS, PUTS = 200, 100
CAPACITY = 4000  # nothing is evicted
SIZES = (100, 2000)
QUESTION, PARAPHRASE = 'How do I fold the rear seats of the car?', 'How do I fold the rear seats of this car?'
UNKNOWN = 'Which film has won the most prizes?'
ANSWER = 'Pull the lever beside the head rest and push the back down.' * 3


def guards_with(names: ProductNames) -> Guards:
    """The packaged opposites with these names."""
    return Guards(FactExtractor(names, Polarity.read(packaged.config_dir() / 'antonyms.yaml')))


# -- latency ----------------------------------------------------------------------------------------------------------

def filling(size: int, embedder: Embedder) -> Iterator[tuple[Asked, Vector]]:
    """One question and others about nothing."""
    random = np.random.default_rng(7)
    yield Asked(QUESTION, 'en', 'en'), embedder.embed(QUESTION)
    for number in range(size - 1):
        vector = random.standard_normal(embedder.dimension).astype(np.float32)
        yield Asked(f'question {number}', 'en', 'en'), vector / np.linalg.norm(vector)


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def latency(table: Table, size: int, embedder: Embedder) -> None:
    """Add the rows of one size."""
    with ExitStack() as opened:
        disk = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        memory = Path(opened.enter_context(tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)))
        guards = guards_with(ProductNames.read(packaged.config_dir() / 'names.yaml'))
        ours = OurCache(embedder, guards, capacity=CAPACITY, file=disk / 'l0.sqlite')
        theirs = LibraryCache(embedder, memory / 'gptcache', capacity=CAPACITY, reports=False)
        for asked, vector in filling(size, embedder):
            ours.put(asked, ANSWER, vector)
            theirs.put(asked, ANSWER, vector)
        theirs.close()
        shutil.copytree(memory / 'gptcache', disk / 'gptcache')
        caches: dict[str, AnswerCache] = {
            'ours, guards, on a file': ours,
            'GPTCache, as it comes': LibraryCache(embedder, disk / 'gptcache', capacity=CAPACITY),
            'GPTCache, no disk, no reports': LibraryCache(embedder, memory / 'gptcache', capacity=CAPACITY,
                                                          reports=False),
        }
        for cache in caches.values():
            opened.callback(cache.close)
        for kind, text in (('hit', PARAPHRASE), ('miss', UNKNOWN), ('same words', QUESTION)):
            rows(table, f'{size:,} entries, {kind}', looked_up(caches, Asked(text, 'en', 'en'), hit=kind != 'miss'))
        rows(table, f'{size:,} entries, put without encoding', put(caches, embedder))


def put(caches: dict[str, AnswerCache], embedder: Embedder) -> dict[str, list[float]]:
    """Store new questions in all caches, in turn."""
    times: dict[str, list[float]] = {name: [] for name in caches}
    for number in range(PUTS):
        asked = Asked(f'What is in hall {number}?', 'en', 'en')
        vector = embedder.embed(asked.text)
        for name, cache in caches.items():
            times[name].append(timed(partial(cache.put, asked, ANSWER, vector)))
    return times


def looked_up(caches: dict[str, AnswerCache], asked: Asked, *, hit: bool) -> dict[str, list[float]]:
    """Ask all caches the same, in turn."""
    for name, cache in caches.items():
        if (cache.get(asked) is not None) is not hit:
            sys.exit(f'{name}: {asked.text!r} should be a {"hit" if hit else "miss"}.')
    times: dict[str, list[float]] = {name: [] for name in caches}
    for _ in range(ROUNDS):
        for name, cache in caches.items():
            times[name].append(timed(partial(cache.get, asked)))
    return times


def rows(table: Table, title: str, times: dict[str, list[float]]) -> None:
    """One row a cache, its ratio to ours taken round by round."""
    own = np.array(next(iter(times.values())))
    for place, (name, mine) in enumerate(times.items()):
        ratios = np.array(mine) / own
        interval = bootstrap((ratios,), np.median, n_resamples=2000, method='percentile', rng=1).confidence_interval
        ratio = f'{np.median(ratios):.2f} ({interval.low:.2f} to {interval.high:.2f})' if place else ''
        table.add_row('' if place else title, name, f'{1e3 * statistics.median(mine):.2f}',
                      f'{1e3 * np.percentile(mine, 95):.2f}', ratio, end_section=place == len(times) - 1)


# -- rates ---------------------------------------------------------------------------------------------------------

def share(count: int, total: int) -> str:
    """A share with its 95 % interval (Wilson)."""
    if not total:
        return '-'
    low, high = proportion_confint(count, total, method='wilson')
    return f'{100 * count / total:.1f} % ({100 * low:.1f} to {100 * high:.1f})'


def rates(data: LabelledSet, embedder: Embedder) -> dict[str, Counted]:
    """What each cache makes of a set."""
    capacity = max(2000, len(data.known))
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        caches: dict[str, AnswerCache] = {
            'GPTCache': LibraryCache(embedder, Path(folder), capacity=capacity),
            'ours, no guards': OurCache(embedder, None, capacity=capacity),
            'ours': OurCache(embedder, guards_with(data.names), capacity=capacity),
        }
        found = {name: counted(cache, data) for name, cache in caches.items()}
        for cache in caches.values():
            cache.close()
    return found


def add_rates(table: Table, name: str, found: dict[str, Counted]) -> None:
    """One row a cache."""
    for place, (cache, each) in enumerate(found.items()):
        table.add_row(
            '' if place else name, '' if place else f'{each.asked:,} / {each.answerable:,}', cache,
            share(each.true, each.answerable), share(each.false, each.asked), f'{each.true} / {each.false}',
            end_section=place == len(found) - 1,
        )


def titled(title: str, *columns: str) -> Table:
    """An empty table; what holds figures is set to the right."""
    table = Table(title=title, title_justify='left')
    for column in columns:
        table.add_column(column, justify='left' if column in ('case', 'set', 'cache') else 'right')
    return table


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument('folder', nargs='?', type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    faiss.omp_set_num_threads(1)  # as the node does
    console = Console(width=140)
    embedder = open_embedder(Embedding())
    console.print(f'GPTCache {load().version}, least cosine {THRESHOLD}, {ROUNDS} rounds in turn', highlight=False)
    table = titled('Time of a call, a lookup with its encoding', 'case', 'cache', 'median, ms', 'p95, ms', 'over ours')
    for size in SIZES:
        latency(table, size, embedder)
    console.print(table)
    print_rates(console, labelled_sets(folder), Remembering(embedder))


def print_rates(console: Console, sets: Iterable[Callable[[], LabelledSet]], embedder: Embedder) -> None:
    """Print the table of rates and what was left out."""
    table = titled('True and false hits', 'set', 'asked / answerable', 'cache', 'true hits, of answerable',
                   'false hits, of asked', 'true / false')
    total: dict[str, Counted] = {}
    for read in sets:
        try:
            data = read()
        except Unavailable as error:
            console.print(f'left out: {error}', highlight=False)
            continue
        found = rates(data, embedder)
        add_rates(table, data.name, found)
        total = {name: each.plus(total.get(name, Counted())) for name, each in found.items()}
    add_rates(table, 'all', total)
    console.print(table)


if __name__ == '__main__':
    main()
