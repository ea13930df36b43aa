"""L0 at 2,000 to 1,000,000 entries: how long a lookup takes, what it misses, what it costs.

    scripts/run python3 benchmarks/large_cache.py [ENTRIES ...] [--folder FOLDER]

The vectors are made up: clusters of about twenty, as questions about one thing are, with a cosine of about 0.72 within.
A query is an entry's vector turned to a cosine of 0.90 to 0.99. Its lookup is right if it finds the entry that an exact
search over all vectors finds. A million entries need about 6 GB of memory, 3 GB of disk and a quarter of an hour.
"""
from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import faiss
import numpy as np
import numpy.typing as npt

from pace_ros.cache.entry import CacheEntry, Source
from pace_ros.cache.semantic_cache import SemanticCache
from pace_ros.clock import SystemClock

SIZES = (2_000, 50_000, 1_000_000)
DIMENSION, CLUSTER, QUERIES, PORTION = 512, 20, 500, 50_000
LINE = '{:>10} {:>9} {:>15} {:>8} {:>9} {:>11} {:>8} {:>25} {:>9} {:>14}'
Matrix = npt.NDArray[np.float32]


def turned(vectors: Matrix, cosines: npt.NDArray[np.float64], random: np.random.Generator) -> Matrix:
    """Unit vectors at these cosines to the given ones, in random directions."""
    noise = random.standard_normal(vectors.shape, dtype=np.float32)
    noise -= (noise * vectors).sum(1, keepdims=True) * vectors
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    mixed = cosines[:, None] * vectors + np.sqrt(1 - cosines**2)[:, None] * noise
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), np.float32)


def vectors_of(size: int, random: np.random.Generator) -> Matrix:
    """Clustered unit vectors, shape (size, d)."""
    centres = random.standard_normal((max(1, size // CLUSTER), DIMENSION), dtype=np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    made = np.empty((size, DIMENSION), np.float32)
    for begin in range(0, size, PORTION):
        chosen = centres[random.integers(0, len(centres), min(PORTION, size - begin))]
        made[begin : begin + len(chosen)] = turned(chosen, np.full(len(chosen), 0.85), random)
    return made


def opened(file: Path, size: int) -> SemanticCache:
    """The cache under test."""
    return SemanticCache(
        dimension=DIMENSION, capacity=size, half_life=86_400.0, clock=SystemClock(), file=file, fingerprint='large'
    )


def fill(file: Path, vectors: Matrix) -> float:
    """Admit everything; returns the median time of an admission, s."""
    cache, taken = opened(file, len(vectors)), list[float]()
    for number, vector in enumerate(vectors):
        entry = CacheEntry(
            f'question {number}', f'Answer {number}. ' + 'It says what such answers say. ' * 4, 'en',
            (Source(f'entry {number % 500}', '1'), Source(f'entry {number % 97}', '1')), time.time(), None,
        )
        begin = time.perf_counter()
        if not cache.admit(entry, vector):
            sys.exit(f'not admitted: {cache.error}')
        taken.append(time.perf_counter() - begin)
        if number % 1_000 == 0:
            cache.flush()
    cache.close()
    return statistics.median(taken)


def resident() -> float:
    """Memory of this process, MB."""
    status = Path('/proc/self/status').read_text(encoding='ascii')
    return int(status.split('VmRSS:')[1].split()[0]) / 1024


def measure(folder: Path, size: int) -> None:
    """Open what was filled, look up, and print what it took; in a process of its own, for the memory."""
    queries, right = np.load(folder / 'queries.npy'), np.load(folder / 'right.npy')
    before, begin = resident(), time.perf_counter()
    cache = opened(folder / 'l0.sqlite', size)
    opening = time.perf_counter() - begin
    memory = resident() - before
    taken, found = [], 0
    for query, nearest in zip(queries, right, strict=True):
        begin = time.perf_counter()
        match = cache.recall(query, 'en', 0.89)
        taken.append(time.perf_counter() - begin)
        found += match.entry is not None and match.entry.question == f'question {nearest}'
    begin = time.perf_counter()
    removed = cache.invalidate(sources=['entry 7'])
    invalidating = time.perf_counter() - begin
    index = 'flat' if cache._held.index.exact else 'IVF, SQ8'  # noqa: SLF001
    percentiles = np.percentile(taken, [50, 99]) * 1e3
    print('\t'.join((index, f'{percentiles[0]:.2f}', f'{percentiles[1]:.2f}', f'{found / len(right):.4f}',
                     f'{memory:.0f}', f'{opening:.1f}', f'{invalidating * 1e3:.0f} ({removed})')))
    cache.close()


def row(folder: Path, size: int) -> list[str]:
    """Fill a cache of this size and measure it."""
    random = np.random.default_rng(7)
    vectors = vectors_of(size, random)
    admission = fill(folder / 'l0.sqlite', vectors)
    asked = vectors[random.choice(size, QUERIES, replace=False)]
    queries = turned(asked, random.uniform(0.90, 0.99, QUERIES), random)
    exact = faiss.IndexFlatIP(DIMENSION)
    best = np.full((2, QUERIES), -1.0)
    for begin in range(0, size, PORTION):
        exact.reset()
        exact.add(vectors[begin : begin + PORTION])
        scores, rows = exact.search(queries, 1)
        better = scores[:, 0] > best[0]
        best[:, better] = scores[better, 0], rows[better, 0] + begin
    np.save(folder / 'queries.npy', queries)
    np.save(folder / 'right.npy', best[1].astype(np.int64))
    del vectors
    child = subprocess.run(
        [sys.executable, __file__, '--measure', str(folder), str(size)], check=True, capture_output=True, text=True
    )
    disk = (folder / 'l0.sqlite').stat().st_size / 2**20
    return [f'{size:,}', *child.stdout.strip().split('\t'), f'{disk:,.0f}', f'{admission * 1e6:.0f}']


def main() -> None:
    """Measure every size and print the table."""
    if sys.argv[1:2] == ['--measure']:
        return measure(Path(sys.argv[2]), int(sys.argv[3]))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('sizes', type=int, nargs='*', default=SIZES, metavar='ENTRIES')
    parser.add_argument('--folder', type=Path, help='where there is room; default: the temporary folder')
    options = parser.parse_args()
    print(LINE.format('entries', 'index', 'lookup p50, ms', 'p99, ms', 'recall@1', 'memory, MB', 'open, s',
                      'invalidate, ms (removed)', 'disk, MB', 'admit p50, us'))
    for size in options.sizes:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            print(LINE.format(*row(Path(folder), size)), flush=True)
    return None


if __name__ == '__main__':
    main()
