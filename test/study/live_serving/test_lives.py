from __future__ import annotations

from pace_ros.study.live_serving.lives import Lives


def listed(key: str, turns: int, replica: str = '', slot: int = 0, held: int = 0) -> dict[str, object]:
    place = {'replica': replica, 'slot': slot, 'held': held} if replica else {}
    return {'id': key, 'turns': turns, 'under_way': 0, **place}


def test_a_life_is_where_it_was_seen() -> None:
    lives = Lives()
    lives.look([listed('a', 0)])
    lives.look([listed('a', 1, 'd1', 2, 30), listed('b', 1, 'd1', 0, 9)])
    lives.look([listed('a', 2, 'd1', 2, 50), listed('b', 2, 'd2', 0, 12)])
    assert lives.seen['a'].turns == {1: {('d1', 2)}, 2: {('d1', 2)}}
    assert (lives.seen['a'].replicas, lives.seen['a'].last_turn, lives.seen['a'].held) == ({'d1'}, 2, 50)
    assert lives.seen['b'].replicas == {'d1', 'd2'}
