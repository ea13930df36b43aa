"""The library and our cache, filled and asked alike: what is a true hit, what a false one."""
from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from pace_ros import packaged
from pace_ros.cache import Guards
from pace_ros.embedding import Embedder
from pace_ros.facts import FactExtractor, Polarity, ProductNames
from pace_ros.study.evaluation.laboratory import Remembering
from pace_ros.study.gptcache.beside import Counted, LibraryCache, OurCache, counted
from pace_ros.study.gptcache.labelled_questions import Asked, LabelledSet

pytestmark = pytest.mark.skipif(
    find_spec('gptcache') is None, reason='GPTCache is not installed (requirements/study.txt)'
)
NAMES = ProductNames.read(packaged.config_dir() / 'names.yaml')
GUARDS = Guards(FactExtractor(NAMES, Polarity.read(packaged.config_dir() / 'antonyms.yaml')))
KNOWN = 'Which company was the main sponsor of the football club from 2004 to 2006?'


def question(text: str, scope: str | None = 'en') -> Asked:
    return Asked(text, 'en', scope)


DATA = LabelledSet(
    'small',
    known=((question(KNOWN), frozenset({'2006'})), (question('What is it?', 'en|lark'), frozenset({'lark'}))),
    asked=(
        (question(KNOWN), frozenset({'2006'})),
        (question('Which company was the main sponsor of the football club from 2004 to 2008?'), frozenset({'2008'})),
        (question('What is it?', 'en|heron'), frozenset({'heron'})),
        (question('What is it?', 'en|lark'), frozenset({'lark'})),
        (question('Sing a song for the fox.'), frozenset({'fox'})),
    ),
    names=NAMES,
)


def test_the_library_takes_another_year_and_another_subject_for_the_same(embedder: Embedder, tmp_path: Path) -> None:
    one, other = (embedder.embed(each.text) for each, _ in DATA.asked[:2])
    assert float(one @ other) >= 0.95, 'the example has to be a near miss of similarity'
    cache = LibraryCache(embedder, tmp_path)
    assert counted(cache, DATA) == Counted(asked=5, answerable=2, true=2, false=2)
    cache.close()


def test_so_does_ours_without_guards_and_with_them_not(embedder: Embedder, tmp_path: Path) -> None:
    assert counted(OurCache(embedder, None), DATA) == Counted(5, 2, 2, 2)
    guarded = OurCache(embedder, GUARDS, file=tmp_path / 'l0.sqlite')
    assert counted(guarded, DATA) == Counted(5, 2, 2, 0)
    guarded.close()


def test_what_has_no_scope_is_neither_kept_nor_found(embedder: Embedder) -> None:
    cache = OurCache(embedder, GUARDS)
    cache.put(question('And that?', None), 'answer')
    assert cache.get(question('And that?', None)) is None
    assert cache.get(question('And that?')) is None


def test_counts_add_up() -> None:
    assert Counted(5, 2, 2, 1).plus(Counted(1, 1, 0, 1)) == Counted(6, 3, 2, 2)


def test_an_encoder_that_remembers(embedder: Embedder) -> None:
    memory = Remembering(embedder)
    first = memory.embed(KNOWN)
    assert memory.embed(KNOWN) is first
    assert (memory.dimension, memory.fingerprint) == (embedder.dimension, embedder.fingerprint)
    assert memory.embed_passage(KNOWN) == pytest.approx(embedder.embed_passage(KNOWN))


def test_a_lookup_of_ours_takes_less_time_than_one_of_the_library(embedder: Embedder, tmp_path: Path) -> None:
    caches = (OurCache(embedder, GUARDS), LibraryCache(embedder, tmp_path))
    times: list[list[float]] = [[], []]
    for cache in caches:
        cache.put(question(KNOWN), 'a bank')
    near = question('Which company was a main sponsor of the football club from 2004 to 2006?')
    for _ in range(30):
        for cache, spent in zip(caches, times, strict=True):
            begin = time.perf_counter()
            assert cache.get(near) == 'a bank'
            spent.append(time.perf_counter() - begin)
    assert sum(one < other for one, other in zip(*times, strict=True)) > 20
    caches[1].close()
