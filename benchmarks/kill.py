"""Kills a process that writes to the cache, at random instants, and looks at what comes back.

    scripts/run python3 benchmarks/kill.py [KILLS]

The child admits, evicts, invalidates, removes, clears, looks up and flushes on a real file, and tells on a pipe what it
begins and what it has finished. After SIGKILL the file must open whole: every finished write is in it, nothing that was
not admitted or was removed, and each question has its own answer, vector, sources and id.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import select
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pace_ros.cache.entry import CacheEntry, Source
from pace_ros.cache.saver import CacheSaver
from pace_ros.cache.semantic_cache import SemanticCache
from pace_ros.clock import SystemClock
from pace_ros.embedding import Vector

DIMENSION, CAPACITY, QUESTIONS, SOURCES = 64, 60, 200, 7
LONGEST = 0.3  # s that a child writes
OPENING = 0.8  # s in which a child is killed that is killed while it starts: every fifth
ROOT = Path(__file__).resolve().parents[1]
Event = dict[str, Any]
Entries = dict[int, tuple[str, str]]  # question and answer by id


def vector_of(question: str) -> Vector:
    """A unit vector that belongs to the question."""
    seed = int.from_bytes(hashlib.sha256(question.encode()).digest()[:8], 'big')
    vector = np.random.default_rng(seed).standard_normal(DIMENSION)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def sources_of(question: str) -> tuple[Source, ...]:
    """The knowledge that the question is answered from."""
    return (Source(f's{sum(question.encode()) % SOURCES}', '1'), Source('every', '1'))


def opened(file: Path) -> SemanticCache:
    """The cache under test."""
    return SemanticCache(
        dimension=DIMENSION, capacity=CAPACITY, half_life=10.0, clock=SystemClock(), file=file, fingerprint='kill'
    )


# -- the child ------------------------------------------------------------------------------------------------------


def tell(event: Event) -> None:
    """One line on the pipe, past any buffer."""
    os.write(1, json.dumps(event).encode() + b'\n')


def write_for_ever(file: Path, seed: int) -> None:
    """The load, until killed."""
    dice = random.Random(seed)
    cache = opened(file)
    CacheSaver(cache, lambda: 0.01)
    tell({'op': 'ready'})
    serial = 0
    while True:
        serial += 1
        before = held(cache)
        operation = chosen(dice, before, f'{seed}.{serial}')
        if operation['op'] == 'recall':
            cache.recall(vector_of(operation['question']), 'en', 0.9)
            continue
        tell(operation)
        do(cache, operation)
        tell({'op': 'done', 'added': sorted(held(cache) - before), 'gone': sorted(before - held(cache))})


def chosen(dice: random.Random, ids: set[int], serial: str) -> Event:
    """What to do next."""
    question, action = f'question {dice.randrange(QUESTIONS)}', dice.random()
    if action < 0.7:
        return {'op': 'admit', 'question': question, 'answer': f'{question} answered as {serial}'}
    if action < 0.85:
        return {'op': 'recall', 'question': question}
    if action < 0.9:
        return {'op': 'invalidate', 'source': sources_of(question)[0].entry_id}
    if action < 0.94:
        return {'op': 'term', 'term': f'{dice.randrange(1000)}'}
    if action < 0.995 and ids:
        return {'op': 'remove', 'ids': dice.sample(sorted(ids), min(3, len(ids)))}
    return {'op': 'clear'}


def do(cache: SemanticCache, operation: Event) -> None:
    """Carry it out."""
    if operation['op'] == 'admit':
        question = operation['question']
        entry = CacheEntry(question, operation['answer'], 'en', sources_of(question), time.time(), None)
        cache.admit(entry, vector_of(question))
    elif operation['op'] == 'invalidate':
        cache.invalidate(sources=[operation['source']])
    elif operation['op'] == 'term':
        cache.invalidate(terms=[operation['term']])
    elif operation['op'] == 'remove':
        cache.remove(operation['ids'])
    else:
        cache.clear()


def held(cache: SemanticCache) -> set[int]:
    """The ids in memory."""
    return set(cache._held.rows)  # noqa: SLF001  to read the file would take the time that is to be killed in


# -- the parent -----------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What the campaign met: finished writes, kills by what was under way, and ``faults``, the broken promises."""

    writes: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def campaign(folder: Path, kills: int, seed: int = 1) -> Outcome:
    """Kill ``kills`` children, one after the other, on one file."""
    dice, outcome, file = random.Random(seed), Outcome(), folder / 'l0.sqlite'
    entries: Entries = {}
    for number in range(kills):
        events = run_and_kill(file, f'{seed}{number:06}', dice)
        outcome.writes += sum(event['op'] == 'done' for event in events)
        entries, unfinished = replayed(entries, events, outcome.faults)
        outcome.kills[unfinished.get('op', 'between') if events else 'opening'] += 1
        entries = compare(file, entries, unfinished, outcome.faults)
    if aside := [path.name for path in folder.iterdir() if 'damaged' in path.name]:
        outcome.faults.append(f'set aside: {aside}')
    return outcome


def run_and_kill(file: Path, seed: str, dice: random.Random) -> list[Event]:
    """Start a child, kill it, and return what it told."""
    child = subprocess.Popen(
        [sys.executable, __file__, '--child', str(file), seed], stdout=subprocess.PIPE,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')])},
    )
    assert child.stdout is not None  # noqa: S101  for the type checker
    told, pipe = bytearray(), child.stdout.fileno()
    starting = dice.random() < 0.2
    while not starting and not told and (some := os.read(pipe, 65536)):
        told += some
    until = time.monotonic() + dice.uniform(0.0, OPENING if starting else LONGEST)
    while (left := until - time.monotonic()) > 0 and child.poll() is None:
        if select.select([pipe], [], [], left)[0]:
            told += os.read(pipe, 65536)
    if child.poll() is not None:
        raise RuntimeError(f'the child ended by itself: {child.returncode}')
    child.kill()
    while some := os.read(pipe, 65536):
        told += some
    child.wait()
    return [json.loads(line) for line in bytes(told).split(b'\n')[:-1]]  # the last line is empty or torn


def replayed(entries: Entries, events: list[Event], faults: list[str]) -> tuple[Entries, Event]:
    """The entries after all that was finished, and what was not."""
    entries, begun = dict(entries), Event()
    for event in events:
        if event['op'] == 'done':
            gone = set(event['gone'])
            if not gone <= entries.keys() or (begun['op'] != 'admit' and gone != touched(entries, begun)):
                faults.append(f'{begun} removed {gone}')
            for entry_id in gone:
                entries.pop(entry_id, None)
            for entry_id in event['added']:
                entries[entry_id] = begun['question'], begun['answer']
            begun = {}
        elif event['op'] != 'ready':
            begun = event
    return entries, begun


def touched(entries: Entries, operation: Event) -> set[int]:
    """The entries that an operation other than an admission removes."""
    kind = operation['op']
    return {
        entry_id for entry_id, (question, answer) in entries.items()
        if kind == 'clear' or (kind == 'remove' and entry_id in operation['ids'])
        or (kind == 'invalidate' and operation['source'] == sources_of(question)[0].entry_id)
        or (kind == 'term' and operation['term'] in f'{question}\n{answer}')
    }


def compare(file: Path, entries: Entries, unfinished: Event, faults: list[str]) -> Entries:
    """Check the file against what must be in it; returns what is."""
    if file.exists():
        with contextlib.closing(sqlite3.connect(file)) as db:
            if (answer := db.execute('PRAGMA integrity_check').fetchall()) != [('ok',)]:
                faults.append(f'integrity check: {answer}')
    cache = opened(file)
    found = {each.entry_id: (each.entry.question, each.entry.answer) for each in cache.entries()}
    faults.extend(
        f'not its own sources or vector: {each}' for each in cache.entries()
        if each.entry.sources != sources_of(each.entry.question)
        or cache.recall(vector_of(each.entry.question), 'en', 0.999).entry != each.entry
    )
    cache.close()
    added = {entry_id: each for entry_id, each in found.items() if entries.get(entry_id) != each}
    lost = entries.keys() - found.keys()
    if unfinished.get('op') == 'admit':
        own = {(unfinished['question'], unfinished['answer'])}
        right = set(added.values()) <= own and len(added) <= 1 and len(lost) <= len(added)
    else:
        right = not added and (lost <= touched(entries, unfinished) if unfinished else not lost)
    if not right or len({question for question, _ in found.values()}) != len(found):
        faults.append(f'after {unfinished}: added {added}, lost {lost}')
    return found


def main() -> None:
    """Run the campaign and print what it met."""
    if '--child' in sys.argv:
        write_for_ever(Path(sys.argv[2]), int(sys.argv[3]))
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        outcome = campaign(Path(folder), kills)
    print(f'{outcome.kills.total()} kills among {outcome.writes} finished writes; under way were:')
    for kind, count in outcome.kills.most_common():
        print(f'  {kind:<12}{count:>5}')
    print(f'{len(outcome.faults)} faults')
    for fault in outcome.faults[:20]:
        print(f'  {fault}')
    sys.exit(bool(outcome.faults))


if __name__ == '__main__':
    main()
