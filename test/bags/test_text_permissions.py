"""When words may be kept, and whose."""
from __future__ import annotations

from pace_ros.bags.text_permissions import Speaker, TextPermissions


def speaker(*namespaces: str, ends: tuple[int, ...] = ()) -> Speaker:
    return Speaker(frozenset(namespaces), frozenset(ends))


ONE = {'/dialogue': speaker('')}
TWO = {'/robot1/dialogue': speaker('/robot1'), '/robot2/renamed': speaker('/robot2')}


def test_told_is_told() -> None:
    for mode, keeps in (('keep', True), ('omit', False)):
        permissions = TextPermissions(mode, now=0.0)
        permissions.look(ONE)
        permissions.answered('/dialogue', keep=not keeps, asked=0.0)
        assert permissions.settled(0.0)
        assert permissions.keeps('/utterance', 0.0) is keeps
        assert permissions.withheld is not keeps


def test_a_node_decides_and_keeps_its_words_until_it_has() -> None:
    permissions = TextPermissions('auto', now=0.0)
    permissions.look(ONE)
    assert permissions.silent == ['/dialogue']
    assert not permissions.settled(100.0)
    assert not permissions.keeps('/utterance', 100.0)
    permissions.answered('/dialogue', keep=True, asked=100.0)
    assert permissions.keeps('/utterance', 100.0)
    permissions.answered('/dialogue', keep=False, asked=101.0)
    assert permissions.settled(101.0)
    assert not permissions.keeps('/utterance', 101.0)


def test_without_any_node_nothing_forbids_it_after_a_while() -> None:
    permissions = TextPermissions('auto', now=0.0, patience=3.0)
    permissions.note('/utterance', 0.0)
    assert not permissions.settled(2.9)
    assert not permissions.keeps('/utterance', 2.9)
    assert permissions.keeps('/utterance', 3.0)
    permissions.look(ONE)  # one that comes later is asked first
    assert not permissions.keeps('/utterance', 4.0)


def test_the_last_word_of_one_that_has_gone_holds_until_it_is_back() -> None:
    permissions = TextPermissions('auto', now=0.0)
    permissions.look(ONE)
    permissions.answered('/dialogue', keep=True, asked=1.0)
    permissions.look({})
    assert permissions.settled(2.0)
    assert permissions.keeps('/utterance', 2.0)
    permissions.look(ONE)
    assert not permissions.keeps('/utterance', 3.0)


def test_one_that_was_started_anew_unseen_is_asked_anew() -> None:
    permissions = TextPermissions('auto', now=0.0)
    permissions.look({'/dialogue': speaker('', ends=(1,))})
    permissions.answered('/dialogue', keep=True, asked=1.0)
    permissions.look({'/dialogue': speaker('', ends=(1,))})
    assert permissions.keeps('/utterance', 1.0)
    permissions.look({'/dialogue': speaker('', ends=(1, 2))})  # the first is not known to be dead yet
    assert not permissions.keeps('/utterance', 1.0)


def test_each_robot_decides_for_its_own_topics_and_all_for_those_they_share() -> None:
    permissions = TextPermissions('auto', now=0.0)
    permissions.look(TWO)
    permissions.answered('/robot1/dialogue', keep=False, asked=1.0)
    permissions.answered('/robot2/renamed', keep=True, asked=1.0)
    assert permissions.withheld
    for topic in ('/robot1/ears/left/speech', '/rosout', '/diagnostics', '/speech'):
        permissions.note(topic, 1.0)
    kept = {topic: permissions.keeps(topic, 4.0) for topic in (
        '/robot1/utterance', '/robot1/ears/left/speech', '/robot2/answer', '/rosout', '/diagnostics', '/speech')}
    assert kept == {'/robot1/utterance': False, '/robot1/ears/left/speech': False, '/robot2/answer': True,
                    '/rosout': False, '/diagnostics': False, '/speech': False}


def test_the_nearest_namespace_counts() -> None:
    permissions = TextPermissions('auto', now=0.0)
    permissions.look({**ONE, **TWO})
    for name, keep in (('/dialogue', True), ('/robot1/dialogue', False), ('/robot2/renamed', True)):
        permissions.answered(name, keep=keep, asked=1.0)
    assert permissions.keeps('/utterance', 1.0)
    assert not permissions.keeps('/robot1/utterance', 1.0)
    assert not permissions.keeps('/rosout', 1.0)
    assert not permissions.keeps('/rosout', 4.0)  # of all three


def test_a_speaker_whose_name_is_not_known_yet_permits_nothing() -> None:
    permissions = TextPermissions('auto', now=0.0)
    permissions.look({'': speaker('/robot1')})
    assert permissions.due(5.0) == []
    assert not permissions.settled(5.0)
    assert not permissions.keeps('/robot1/answer', 5.0)
    permissions.look({'/robot1/dialogue': speaker('/robot1')})
    permissions.answered('/robot1/dialogue', keep=True, asked=5.0)
    assert permissions.keeps('/robot1/answer', 5.0)


def test_a_change_holds_at_once_and_an_older_answer_does_not_undo_it() -> None:
    permissions = TextPermissions('auto', now=0.0)
    permissions.look(ONE)
    permissions.answered('/dialogue', keep=True, asked=1.0)
    permissions.changed('/dialogue', keep=False, now=6.1)
    assert not permissions.keeps('/utterance', 6.1)
    permissions.answered('/dialogue', keep=True, asked=6.0)  # asked before the change
    assert not permissions.keeps('/utterance', 6.2)
    permissions.answered('/dialogue', keep=True, asked=11.0)
    assert permissions.keeps('/utterance', 11.0)


def test_questions_are_repeated() -> None:
    permissions = TextPermissions('auto', now=0.0)
    permissions.look(ONE)
    assert permissions.due(0.0) == ['/dialogue']
    permissions.asked('/dialogue', 0.0)
    assert permissions.due(0.4) == []
    assert permissions.due(0.5) == ['/dialogue']
    permissions.answered('/dialogue', keep=True, asked=0.5)
    permissions.asked('/dialogue', 0.5)
    assert permissions.due(5.4) == []
    assert permissions.due(5.5) == ['/dialogue']
    permissions.look({})
    assert permissions.due(100.0) == []


def test_a_topic_whose_robot_may_not_be_discovered_yet_waits_for_it() -> None:
    permissions = TextPermissions('auto', now=0.0, patience=3.0)
    permissions.look(ONE)
    permissions.answered('/dialogue', keep=True, asked=0.5)
    permissions.note('/utterance', 1.0)
    assert permissions.settled(1.0)
    permissions.note('/robot1/utterance', 1.0)
    assert not permissions.settled(1.0)
    assert permissions.keeps('/utterance', 1.0)
    assert not permissions.keeps('/robot1/utterance', 3.9)
    permissions.look({**ONE, **TWO})
    assert not permissions.keeps('/robot1/utterance', 5.0)
    permissions.answered('/robot1/dialogue', keep=True, asked=5.0)
    assert permissions.keeps('/robot1/utterance', 5.0)


def test_a_topic_without_a_robot_of_its_own_is_kept_in_the_end() -> None:
    permissions = TextPermissions('auto', now=0.0, patience=3.0)
    permissions.look(ONE)
    permissions.answered('/dialogue', keep=True, asked=0.5)
    permissions.note('/ears/speech', 1.0)
    assert not permissions.keeps('/ears/speech', 3.9)
    assert permissions.keeps('/ears/speech', 4.0)
    assert permissions.settled(4.0)
