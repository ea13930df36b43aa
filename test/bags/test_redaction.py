"""When words may be kept."""
from __future__ import annotations

from pace_ros.bags.redaction import TextPermission


def test_told_is_told() -> None:
    for mode, keeps in (('keep', True), ('omit', False)):
        permission = TextPermission(mode, now=0.0)
        permission.look(present=True)
        permission.answered(keep=not keeps)
        assert permission.settled(0.0)
        assert permission.keeps(0.0) is keeps


def test_the_node_decides_and_is_silent_until_it_has() -> None:
    permission = TextPermission('auto', now=0.0)
    permission.look(present=True)
    assert not permission.settled(100.0)
    assert not permission.keeps(100.0)
    permission.answered(keep=True)
    assert permission.keeps(100.0)
    permission.answered(keep=False)
    assert permission.settled(100.0)
    assert not permission.keeps(100.0)


def test_without_a_node_nothing_forbids_it_after_a_while() -> None:
    permission = TextPermission('auto', now=0.0, patience=3.0)
    assert not permission.settled(2.9)
    assert permission.keeps(3.0)
    permission.look(present=True)  # one that comes later is asked first
    assert not permission.keeps(4.0)
    permission.answered(keep=True)
    permission.look(present=False)
    assert permission.keeps(5.0)
    permission.look(present=True)
    assert not permission.keeps(6.0)
