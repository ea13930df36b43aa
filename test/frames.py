"""What is true of the frames of any turn, as they are heard on the topics."""
from __future__ import annotations

from collections import defaultdict

import pytest
from node_process import Listener

from pace_msgs import msg
from pace_ros.turn import Outcome


def check_frames(frames: list[msg.ResponseFrame], turn: msg.Turn) -> None:
    """seq gapless, one `last` on an answered turn, filler before answer."""
    assert [frame.seq for frame in frames] == list(range(len(frames)))
    assert {frame.conversation_id for frame in frames} == {turn.conversation_id}
    kinds = [frame.kind for frame in frames]
    assert kinds == sorted(kinds)
    assert kinds.count(msg.ResponseFrame.KIND_FILLER) <= 1
    lasts = [frame.last for frame in frames]
    assert lasts.count(True) == int(turn.outcome == Outcome.ANSWERED)
    if turn.outcome == Outcome.ANSWERED:
        assert lasts[-1]
        assert ''.join(frame.text for frame in frames if frame.kind == frame.KIND_ANSWER) == turn.answer
        assert turn.ptfr == pytest.approx(turn.t_embed + turn.t_route + turn.t_path, abs=1e-6)


def frames_by_turn(heard: Listener) -> dict[str, list[msg.ResponseFrame]]:
    """Filler and answer of each turn, in order."""
    frames = defaultdict(list)
    for frame in sorted([*heard.heard['filler'], *heard.heard['answer']], key=lambda frame: frame.seq):
        frames[frame.turn_id].append(frame)
    return frames
