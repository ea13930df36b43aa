"""What the robot's body does in one turn: attention on receipt, looking aside and a pose while it thinks, beats."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pace_ros.clock import Timer
from pace_ros.config import Config
from pace_ros.config_body import Nonverbal
from pace_ros.turn import Content, Modality

ATTENTION_DELAY = 0.01  # s: nobody sees it, and a cached answer is out before the body moves
LEFT, RIGHT = 1.0, -1.0


class Body(Protocol):
    """What a body can be told."""

    def look_at_speaker(self) -> None:
        """Turn the gaze to the speaker."""
        ...

    def look_aside(self, side: float, up: float) -> None:
        """Turn the gaze to a point beside (left is positive) and above the speaker (m)."""
        ...

    def gesture(self, turn_id: str, name: str) -> None:
        """Begin a gesture."""
        ...

    def rest(self) -> None:
        """Break off whatever gesture is under way."""
        ...


@dataclass
class BodyMemory:
    """What a conversation's visitor has seen last, so that no filler comes twice running. ``side`` 0: none yet.
    ``averted``: the eyes are aside now.
    """

    side: float = 0.0
    averted: bool = False
    pose: str = ''
    beat: str = ''


def delay(law: Nonverbal, own: float, *, expected: float, elapsed: float) -> float | None:
    """When a non-verbal filler is due (s since receipt), None for not at all.

    ``expected`` is the time from now to the first token (s), ``elapsed`` that since receipt. Law fixed: ``own``. Law
    expected: max(own, share * expected), and none where the answer is expected within the tolerance since receipt.
    """
    if law.law == 'fixed':
        return own
    return None if elapsed + expected <= law.tolerance else max(own, law.share * expected)


def other_than(last: str, names: Sequence[str]) -> str:
    """The name after ``last`` in turn, never ``last`` itself; empty where there is no other."""
    if last not in names:
        return names[0] if names else ''
    following = names[(names.index(last) + 1) % len(names)]
    return '' if following == last else following


class BodyLanguage:
    """One turn's body. ``elapsed`` gives s since receipt, ``call_later`` starts a timer, ``note`` takes every onset.

    A turn that was stopped moves nothing any more, and what it had moved is taken back.
    """

    def __init__(
        self,
        turn_id: str,
        body: Body,
        config: Callable[[], Config],
        memory: BodyMemory,
        *,
        elapsed: Callable[[], float],
        call_later: Callable[[float, Callable[[], None]], Timer],
        note: Callable[[Modality, Content, str], None],
    ) -> None:
        self._turn_id = turn_id
        self._body = body
        self._config = config
        self._memory = memory
        self._elapsed = elapsed
        self._call_later = call_later
        self._note = note
        self._attention: Timer | None = call_later(ATTENTION_DELAY, self.attend)
        self._thinking: list[Timer] = []
        self._averted = False
        self._moving = False
        self._posing = False
        self._answering = False
        self._stopped = False
        self._last_beat = math.nan
        self._has_beaten = False

    def attend(self) -> None:
        """Show attention, if it is still due: look at the speaker and nod. It costs nothing and is no filler."""
        if self._attention is None:
            return
        self._attention.cancel()
        self._attention = None
        config = self._config()
        if config.gaze.enabled:
            self._look_at_speaker()
            self._note(Modality.GAZE, Content.ACKNOWLEDGEMENT, 'speaker')
        if config.gesture.enabled and config.gesture.nod:
            self._gesture(config.gesture.nod, Content.ACKNOWLEDGEMENT)

    def think(self, *, expected: float) -> str:
        """A filler was launched and the language model asked: look aside, and take a pose if it lasts.

        ``expected`` is the time to its first token (s). Returns what was decided, for the record.
        """
        gaze, gesture = self._config().gaze, self._config().gesture
        decided = [
            self._schedule('gaze', self._avert, gaze.aversion_delay, expected,
                           wanted=gaze.enabled and gaze.aversion),
            self._schedule('gesture', self._pose, gesture.thinking_delay, expected,
                           wanted=gesture.enabled and bool(gesture.thinking)),
        ]
        return ', '.join(decided)

    def _schedule(self, name: str, act: Callable[[], None], own: float, expected: float, *, wanted: bool) -> str:
        if not wanted or self._answering or self._stopped:
            return f'{name} off'
        elapsed = self._elapsed()
        after = delay(self._config().nonverbal, own, expected=expected, elapsed=elapsed)
        if after is None:
            return f'{name} not needed: an answer is expected within the tolerance'
        self._thinking.append(self._call_later(max(0.0, after - elapsed), act))
        return f'{name} after {after:.2f} s'

    def answer_begins(self, *, informative: bool) -> None:
        """The first words are out: no filler any more, and the eyes come back. An apology is no answer's onset."""
        if self._answering or self._stopped:
            return
        self._answering = True
        for timer in self._thinking:
            timer.cancel()
        self._thinking.clear()
        if self._averted:
            self._averted = False
            self._look_at_speaker()
            if informative:
                self._note(Modality.GAZE, Content.ANSWER, 'speaker')
        if self._posing:
            self._posing = self._moving = False
            self._body.rest()

    def sentence_begins(self) -> None:
        """A sentence of the answer begins to sound: beat, unless it is the first or follows a beat too soon."""
        settings, now = self._config().gesture, self._elapsed()
        if math.isnan(self._last_beat):
            self._last_beat = now
            return
        name = other_than(self._memory.beat, settings.beats) or self._memory.beat
        if self._stopped or not settings.enabled or not settings.beats or now - self._last_beat < settings.beat_period:
            return
        self._last_beat, self._memory.beat = now, name
        self._gesture(name, Content.ANSWER, noted=not self._has_beaten)
        self._has_beaten = True

    def stop(self, *, look_back: bool = True) -> None:
        """Nothing of this turn moves any more. The eyes come back to the speaker, unless another turn is about to look
        there.
        """
        if self._stopped:
            return
        self._withdraw()
        if self._memory.averted and look_back:
            self._look_at_speaker()
        if self._moving:
            self._body.rest()

    def finish(self) -> None:
        """The turn is over: what still moves comes to its own end."""
        self._withdraw()

    def _withdraw(self) -> None:
        """Nothing new begins."""
        self._stopped = True
        for timer in (self._attention, *self._thinking):
            if timer is not None:
                timer.cancel()
        self._attention = None
        self._thinking.clear()

    def _avert(self) -> None:
        gaze = self._config().gaze
        self._memory.side = RIGHT if self._memory.side == LEFT else LEFT
        self._averted = self._memory.averted = True
        self._body.look_aside(self._memory.side * gaze.aversion_side, gaze.aversion_up)
        self._note(Modality.GAZE, Content.FILLER, 'aside left' if self._memory.side == LEFT else 'aside right')

    def _pose(self) -> None:
        name = self._memory.pose = other_than(self._memory.pose, self._config().gesture.thinking)
        if name:
            self._posing = True
            self._gesture(name, Content.FILLER)

    def _look_at_speaker(self) -> None:
        self._memory.averted = False
        self._body.look_at_speaker()

    def _gesture(self, name: str, content: Content, *, noted: bool = True) -> None:
        self._moving = True
        self._body.gesture(self._turn_id, name)
        if noted:
            self._note(Modality.GESTURE, content, name)
