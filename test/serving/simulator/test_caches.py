"""Contexts that are lost silently, and those that are safe."""
from __future__ import annotations

from pace_ros.serving.simulator.caches import Caches


def test_what_is_longest_unused_is_lost_first() -> None:
    caches = Caches()
    for name in 'abc':
        caches.put(name, 100, owned=False)
    caches.put('a', 150, owned=False)
    caches.shrink(tokens=260, slots=9)
    assert [caches.found(name) for name in 'abc'] == [150, 0, 100]
    caches.shrink(tokens=999, slots=1)
    assert [caches.found(name) for name in 'abc'] == [150, 0, 0]


def test_what_has_an_account_is_safe_until_it_is_released() -> None:
    caches = Caches()
    caches.put('a', 100, owned=True)
    caches.put('b', 50, owned=False)
    caches.shrink(tokens=0, slots=0)
    assert (caches.found('a'), caches.found('b')) == (100, 0)
    caches.release('a')
    caches.release('never there')
    assert caches.found('a') == 100
    caches.shrink(tokens=99, slots=9)
    assert caches.found('a') == 0


def test_erased_is_gone() -> None:
    caches = Caches()
    caches.put('a', 100, owned=True)
    caches.erase('a')
    caches.erase('a')
    assert caches.found('a') == 0


def test_claimed_is_safe_again() -> None:
    caches = Caches()
    caches.put('a', 100, owned=False)
    caches.claim('a')
    caches.claim('never there')
    caches.shrink(tokens=0, slots=0)
    assert caches.found('a') == 100
