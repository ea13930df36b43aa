from __future__ import annotations

import pytest

from pace_ros.cache.entry import CacheEntry, Source
from pace_ros.cache.invalidations import KEPT, Invalidations, names

ENTRY = CacheEntry('How far does the LARK go?', '500 km', 'en', (Source('range', '1'),), 0.0, None)


@pytest.mark.parametrize(('sources', 'terms', 'touched'), [
    (['range'], [], True), (['price', 'range'], [], True), (['price'], [], False), ([], ['lark'], True),
    ([], [' Lark! '], True), ([], ['500 KM'], True), ([], ['orvane'], False), (['price'], ['km'], True),
])
def test_a_change_touches_what_is_built_on_it_or_names_it(
    sources: list[str], terms: list[str], *, touched: bool
) -> None:
    changes = Invalidations()
    changes.note(sources, terms)
    assert changes.touch(ENTRY, 0) is touched
    assert not changes.touch(ENTRY, 1)


def test_everything_touches_everything() -> None:
    changes = Invalidations()
    changes.note(everything=True)
    assert (changes.touch(ENTRY, 0), changes.touch(ENTRY, 1), changes.epoch) == (True, False, 1)


def test_a_change_of_nothing_is_not_counted() -> None:
    changes = Invalidations()
    changes.note([], ['', '?!'])
    assert changes.epoch == 0


def test_only_the_last_changes_are_known_and_before_them_all_may_have_changed() -> None:
    changes = Invalidations()
    for number in range(KEPT + 1):
        changes.note([f's{number}'])
    assert changes.touch(ENTRY, 0)
    assert not changes.touch(ENTRY, 1)


def test_no_term_is_named_by_no_text() -> None:
    assert not names('', '', ())
    assert names('a question', 'an answer', ('answer',))
