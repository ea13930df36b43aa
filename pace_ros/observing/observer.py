"""The observer: commands, motion and sound in, observed onsets out."""
from __future__ import annotations

import math
from collections.abc import Sequence

from pace_ros.clock import Forward
from pace_ros.embodiment.gestures import GestureBook
from pace_ros.embodiment.level import Marker
from pace_ros.observing.attribution import HOLD, MotionAttribution
from pace_ros.observing.command import Command, Observation
from pace_ros.observing.joints import Joints
from pace_ros.observing.settings import ObserverSettings
from pace_ros.observing.sound import SoundOnsets
from pace_ros.observing.speech_attribution import SpeechAttribution
from pace_ros.observing.stops import Stops
from pace_ros.turn import Modality, Onset, Outcome, Source

GRACE = 1.0  # s after a deadline for sensors that are late
FROZEN = 2.0  # s on the steady clock without ROS time going on
STOPPED = {Outcome.PREEMPTED: 'pre-empted', Outcome.CANCELLED: 'cancelled'}


class Observer:
    """Every method takes instants in s of ROS time and returns the observations that are certain by then.

    What depends on messages of several topics is decided a moment later than it happened, so that their order of
    arrival does not matter. ``time_is`` is to be called before any other method.
    """

    def __init__(self, settings: ObserverSettings, book: GestureBook) -> None:
        self._settings = settings
        self._stops = Stops(settings.stop_margin)
        self._joints = Joints(settings.motion)
        self._sounds = SoundOnsets(settings.sound)
        self._motion = MotionAttribution(settings, book, self._joints, self._stops)
        self._speech = SpeechAttribution(settings.sound, self._sounds, self._stops)
        self._time = Forward()
        self._tick = (math.nan, 0.0)  # ROS time at the last tick, and when it went on (steady)

    def time_is(self, now: float) -> list[Observation]:
        """ROS time now; where it has been set back all that was known of the time before is given up."""
        if self._time.goes_on(now):
            return []
        why = 'the clock was set back'
        told = self._motion.forget(why) + self._speech.forget(why)
        for part in (self._stops, self._joints, self._sounds):
            part.forget()
        return told

    def hear_onset(self, onset: Onset, stamp: float, *, steady: float) -> list[Observation]:
        """An onset was published; ``steady`` (s) is now on a steady clock."""
        if onset.source is not Source.COMMANDED:
            return []
        command = Command(onset, stamp, steady)
        self._stops.commanded(command)
        if onset.modality in (Modality.GAZE, Modality.GESTURE):
            self._motion.commanded(command)
        elif onset.modality is Modality.SPEECH:
            self._speech.commanded(command)
            return self._speech.decide(self._sounds.latest)
        return []

    def hear_turn(self, turn_id: str, outcome: Outcome, stamp: float) -> None:
        """A turn has ended."""
        if outcome in STOPPED:
            self._stops.turn_stopped(turn_id, stamp, STOPPED[outcome])

    def hear_speech(self, turn_id: str, outcome: str, stamp: float) -> None:
        """A turn's speech is over; a turn whose record says that it was answered may have been silenced since."""
        if outcome == 'stopped':
            self._stops.turn_stopped(turn_id, stamp, 'silenced')

    def hear_gesture(self, turn_id: str, name: str, stamp: float) -> None:
        """A gesture was commanded; only a return to rest is news, the others have their onsets."""
        if name == 'rest' and not turn_id:
            self._stops.body_rests(stamp)
            self._motion.body_rests(stamp)

    def hear_joints(self, stamp: float, names: Sequence[str], positions: Sequence[float]) -> list[Observation]:
        """Positions (rad) of some joints."""
        for motion in self._joints.update(stamp, names, positions):
            self._motion.moved(motion)
        return self._motion.decide(self._joints.latest - HOLD)

    def hear_level(
        self, stamp: float, hop: float, rms: Sequence[float], marks: Sequence[Marker] = ()
    ) -> list[Observation]:
        """Levels of sound (0..1), hop (s) by hop, and what starts where."""
        for sound in self._sounds.update(stamp, hop, rms, marks):
            self._speech.sounded(sound)
        return self._speech.decide(self._sounds.latest)

    def tick(self, now: float, *, steady: float) -> list[Observation]:
        """Time goes on; give up what is past its deadline although no sensor said so.

        While ROS time stands still (``now`` unchanged) deadlines run on the steady clock.
        """
        told = self.time_is(now)
        now = self._time.now
        if now != self._tick[0]:
            self._tick = (now, steady)
        frozen = steady - self._tick[1] > FROZEN
        for part, heard, hold in ((self._motion, self._joints, HOLD), (self._speech, self._sounds, 0.0)):
            patience = GRACE + hold
            late = part.overdue(now - patience)
            if frozen:
                late += [
                    each for each in part.pending()
                    if each not in late and each.due - each.stamp + self._longest() + patience < steady - each.heard
                ]
            if late:
                told += part.decide(heard.latest)
                told += part.give_up([each for each in late if each in part.pending()])
        return told

    def close(self) -> list[Observation]:
        """The observer ends: decide with what is known."""
        told = self._motion.decide(self._joints.latest) + self._speech.decide(self._sounds.latest)
        for part in (self._motion, self._speech):
            told += part.give_up(part.pending(), 'the observer was stopped')
        return told

    def _longest(self) -> float:
        return max(self._settings.gaze.deadline, self._settings.gesture.deadline, self._settings.sound.deadline)
