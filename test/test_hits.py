"""Which near candidate is a hit: guards, scope and withdrawn entries, on the real encoder and the packaged showroom."""
from __future__ import annotations

from pathlib import Path as FilePath
from types import SimpleNamespace
from typing import Any, cast

import pytest
from harness import FACTS

from pace_ros import packaged
from pace_ros.aging import Aging, read_rules
from pace_ros.cache import CacheEntry, Guards, Scope
from pace_ros.clock import VirtualClock
from pace_ros.config import Config
from pace_ros.embedding import Embedder
from pace_ros.hits import Direct, HitRules
from pace_ros.levels import Levels
from pace_ros.query import Query
from pace_ros.retrieval import KnowledgeBase
from pace_ros.settings import with_values

CLOSE = 0.7
FREE = Aging('off', 3600.0)
LARK, HERON = ('model', 'lark'), ('model', 'heron')


class Desk:
    """A knowledge base and the rules of hits over it."""

    def __init__(self, paths: list[FilePath], embedder: Embedder, **settings: object) -> None:
        # Midday of 2027-01-15: the showroom's price lists hold.
        self.clock = VirtualClock(wall=1_799_985_600.0)
        self.base = KnowledgeBase(paths, embedder, self.clock)
        self._embedder = embedder
        config = with_values(Config(), {name.replace('__', '.'): value for name, value in settings.items()})
        levels = cast('Levels', SimpleNamespace(knowledge=self.base, guards=Guards(FACTS)))
        self.rules = HitRules(levels, lambda: config, self.clock)

    def query(self, text: str, locale: str = 'en', scope: Scope | None = None) -> Query:
        query = Query(text, locale, scope or Scope(locale[:2]))
        query.vector = self._embedder.embed(text)
        query.hits = tuple(self.base.search(query.vector, 12))
        return query

    def direct(self, text: str, locale: str = 'en', scope: Scope | None = None, threshold: float = CLOSE) -> Direct:
        return self.rules.direct(self.query(text, locale, scope), threshold)


def cached(question: str) -> CacheEntry:
    return CacheEntry(question, 'An answer.', 'en', (), 0.0, None)


def found(direct: Direct) -> str:
    return direct.hit.entry.entry_id if direct.hit else ''


@pytest.fixture(scope='module')
def desk(embedder: Embedder) -> Desk:
    return Desk([packaged.config_dir() / 'knowledge'], embedder)


def test_the_packaged_price_lists_hold_on_the_day_of_these_tests(desk: Desk) -> None:
    assert len(desk.base) > 200


@pytest.mark.parametrize(('text', 'locale', 'entry'), [
    ('How much is the Lark Max?', 'en', 'price-lark-max'),
    ('How much is the Heron?', 'en', 'price-heron-range'),
    ('云雀多少钱？', 'zh', 'price-lark-range'),
    ('苍鹭多少钱', 'zh', 'price-heron-range'),
    ('How long is the vehicle warranty?', 'en', 'warranty-vehicle'),
])
def test_the_right_entry_answers(desk: Desk, text: str, locale: str, entry: str) -> None:
    assert found(desk.direct(text, locale)) == entry


@pytest.mark.parametrize(('text', 'locale'), [
    ('How much is it?', 'en'),
    ('How much is the Raven?', 'en'),
    ('多少钱？', 'zh'),
])
def test_a_question_about_no_known_subject_gets_no_subjects_price(desk: Desk, text: str, locale: str) -> None:
    assert 'price' not in found(desk.direct(text, locale))


def test_entries_about_another_model_are_refused_with_the_reason(desk: Desk) -> None:
    direct = desk.direct('How much is the Lark Max in 2031?', threshold=0.8)
    assert direct.hit is None
    assert any(each.startswith('price-lark-max: ') for each in direct.refused)


@pytest.mark.parametrize(('subject', 'entry'), [((LARK,), 'price-lark-range'), ((HERON,), 'price-heron-range')])
def test_a_leaning_question_is_about_the_subject_in_focus(
    desk: Desk, subject: tuple[tuple[str, str], ...], entry: str
) -> None:
    scope = Scope(f'en model={subject[0][1]}', subject, leans=True)
    assert found(desk.direct('How much is it?', scope=scope, threshold=0.5)) == entry


def test_a_question_that_means_nothing_by_itself_gets_no_entry(desk: Desk) -> None:
    assert desk.direct('How much is the Lark Max?', scope=Scope(None, reason='leans')) == Direct()


def test_an_open_question_may_be_about_the_focus_or_about_the_house(desk: Desk) -> None:
    scope = Scope('en model=lark', (LARK,))
    assert found(desk.direct('How long is the vehicle warranty?', scope=scope)) == 'warranty-vehicle'


def test_without_guards_similarity_alone_decides(embedder: Embedder) -> None:
    bare = Desk([packaged.config_dir() / 'knowledge'], embedder, guards__facts=False)
    assert found(bare.direct('How much is the Lark Max in 2031?', threshold=0.8)) == 'price-lark-max'
    differs = bare.rules.differs(bare.query('How much is the Lark?'), FREE)
    assert differs(cached('How much is the Heron?')) == ''


def test_a_cached_question_that_differs_is_told_apart(desk: Desk) -> None:
    differs = desk.rules.differs(desk.query('Does the Lark have 8 airbags?'), FREE)
    assert differs(cached('Does the Lark have eight airbags?')) == ''
    assert differs(cached('Does the Heron have 8 airbags?')) == 'names'
    assert differs(cached('Does the Lark have 6 airbags?')) == 'quantities'


@pytest.mark.parametrize(('aging', 'category', 'age', 'why'), [
    (Aging('deny', 60.0), 'price', 0.0, 'price: deny'),
    (Aging('deny', 60.0), '', 1e9, ''),
    (Aging('ttl', 60.0), 'price', 59.0, ''),
    (Aging('ttl', 60.0), 'price', 60.0, 'price: ttl'),
    (Aging('off', 60.0), 'price', 1e9, ''),
    (Aging('off', 60.0, read_rules(['stable=ttl:10'])), '', 10.0, 'stable: ttl'),
])
def test_the_policy_of_today_holds_for_what_was_admitted_under_another(
    desk: Desk, aging: Aging, category: str, age: float, why: str
) -> None:
    entry = CacheEntry('Where?', 'There.', 'en', (), desk.clock.wall() - age, None, category=category)
    query = desk.query('Where?')
    assert desk.rules.aged(query, aging)(entry) == why
    assert desk.rules.differs(query, aging)(entry) == why


def test_an_entry_withdrawn_or_out_of_date_after_the_search_is_never_returned(
    tmp_path: FilePath, embedder: Embedder
) -> None:
    file = tmp_path / 'kb.yaml'
    entry = '- {id: a, valid_until: 2027-01-15, questions: {en: "Where is the coffee bar?"}, answer: {en: "%s"}}\n'
    other = '- {id: b, questions: {en: "Is there a toilet?"}, answer: {en: "Yes."}}\n'
    file.write_text(entry % 'Left.' + other)
    desk = Desk([file], embedder)
    query = desk.query('Where is the coffee bar?')
    assert found(desk.rules.direct(query, CLOSE)) == 'a'
    file.write_text(entry % 'Right.' + other)
    desk.base.reload()
    assert desk.rules.direct(query, CLOSE).hit is None, 'the entry has changed since the search'
    query = desk.query('Where is the coffee bar?')
    assert cast('Any', desk.rules.direct(query, CLOSE).hit).entry.answer('en') == 'Right.'
    desk.clock.advance(86_400.0)
    assert desk.rules.direct(query, CLOSE).hit is None, 'its last day is over'
    file.write_text(other)
    desk.base.reload()
    assert desk.direct('Where is the coffee bar?').hit is None


MARGIN = """
- id: boot
  questions: {en: ["How big is the boot?"]}
  answer: {en: "The boot holds 400 liters."}
- id: tank
  questions: {en: ["How big is the tank?"]}
  answer: {en: "The tank holds 50 liters."}
"""


@pytest.mark.parametrize(('margin', 'entry'), [(0.0, 'boot'), (0.05, 'boot'), (0.9, '')])
def test_an_entry_that_another_is_nearly_as_near_as_is_left_to_the_model(
    tmp_path: FilePath, embedder: Embedder, margin: float, entry: str
) -> None:
    file = tmp_path / 'knowledge.yaml'
    file.write_text(MARGIN)
    desk = Desk([file], embedder, l1__margin=margin)
    direct = desk.direct('How big is the boot then?')
    assert found(direct) == entry
    assert direct.refused == (() if entry else ('boot: tank is as near',))


def test_the_margin_is_kept_to_a_hair(tmp_path: FilePath, embedder: Embedder) -> None:
    """Just below the distance to the second entry the best one is returned, just above it is not."""
    file = tmp_path / 'knowledge.yaml'
    file.write_text(MARGIN)
    asked = 'How big is the boot then?'
    first, second = Desk([file], embedder).query(asked).hits
    gap = first.score - second.score
    assert found(Desk([file], embedder, l1__margin=gap - 1e-4).direct(asked, threshold=first.score - 1e-3)) == 'boot'
    assert found(Desk([file], embedder, l1__margin=gap + 1e-4).direct(asked, threshold=first.score - 1e-3)) == ''


def test_a_margin_lists_no_refusal_from_below_the_threshold(tmp_path: FilePath, embedder: Embedder) -> None:
    file = tmp_path / 'knowledge.yaml'
    file.write_text('- {id: heron, questions: {en: "How many airbags has the Heron?"}, answer: {en: "Eight."}}\n')
    desk = Desk([file], embedder, l1__margin=0.5)
    asked = 'How many airbags has the Lark?'
    score = desk.query(asked).hits[0].score
    assert desk.direct(asked, threshold=score - 1e-3).refused == ('heron: names',)
    assert desk.direct(asked, threshold=score + 1e-3).refused == ()
