"""Barge-in: what is left of a turn after a visitor has broken in.

    scripts/campaign.sh barge_in [INTERRUPTIONS] [SEED]

The whole embodied robot (simulated body and loudspeaker, local stand-in for the cloud) is interrupted at random moments
of filler, answer and gesture, by utterance, by voice activity and by `~/stop`. Whatever of the old turn is heard, seen
or published later than 100 ms after the interruption is a fault: frames, commanded onsets, gestures, samples handed
over, sound, arms that still move away from rest, and eyes that are still aside. Exit code 1 if there is any, or fewer
than wanted were made.
"""
from __future__ import annotations

import os
import random
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path as FilePath

os.environ.setdefault('ROS_DOMAIN_ID', '79')
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

import numpy as np
from geometry_msgs.msg import PointStamped
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sensor_msgs.msg import JointState

from pace_msgs import msg
from pace_ros.clock import seconds
from pace_ros.ros.processes import START_DEADLINE, exit_on_sigterm
from pace_ros.ros.qos import EVENTS, SENSOR, STATE
from pace_ros.ros.session import OPEN, embodied_robot
from pace_ros.ros.visitors import LOUD, MOMENTS, STOP, UTTERANCE, VOICE, Interrupted, Interruption, Visitors
from pace_ros.turn import Source

INTERRUPTIONS = 200
ALLOWED = 0.1  # s
AFTERMATH = 0.7  # s for which is listened; a new turn takes its first pose later
LOOKS_AGAIN = 0.5  # s after which a new turn may look aside
STILL = 0.01  # rad
PATIENCE = 30.0  # s
THINKING = 2.0  # s by which the cloud is held back: long enough for filler and pose
WITHOUT_L0 = ('l0.enabled:=false', 'l0.file:=none')
LEAD_OUT = 0.06  # s before they are due samples are handed over


@dataclass
class Witness:
    """Hears and sees everything, with ROS times (s)."""

    visitors: Visitors
    said: list[tuple[float, str, str]] = field(default_factory=list)  # stamp, turn, what
    loud: list[tuple[float, str]] = field(default_factory=list)  # instant of a hop that can be heard, turn
    arms: list[tuple[float, float]] = field(default_factory=list)  # stamp, distance from rest
    looks: list[tuple[float, bool]] = field(default_factory=list)  # stamp, whether aside
    playing: str = ''

    def __post_init__(self) -> None:
        node = self.visitors.node
        for topic, kind in (('answer', msg.ResponseFrame), ('filler', msg.ResponseFrame), ('gesture', msg.Gesture),
                            ('onset', msg.Onset), ('speech_audio', msg.AudioChunk)):
            node.create_subscription(kind, topic, lambda message, topic=topic: self._hear(topic, message), EVENTS)
        node.create_subscription(msg.AudioLevel, 'audio_level', self._on_level, SENSOR)
        node.create_subscription(JointState, 'joint_states', self._on_joints, SENSOR)
        node.create_subscription(PointStamped, 'gaze_target', self._on_look, STATE)

    def _hear(self, topic: str, message: object) -> None:
        if topic == 'onset' and message.source != Source.COMMANDED:
            return
        if topic == 'speech_audio' and message.flush:
            return
        lead = LEAD_OUT if topic == 'speech_audio' else 0.0
        self.said.append((seconds(message.header.stamp) - lead, message.turn_id, topic))

    def _on_level(self, level: msg.AudioLevel) -> None:
        start, marks = seconds(level.header.stamp), {each.index: each.turn_id for each in level.markers}
        for index, rms in enumerate(level.rms):
            self.playing = marks.get(index, self.playing)
            if rms > LOUD:
                self.loud.append((start + index * level.hop, self.playing))

    def _on_look(self, target: PointStamped) -> None:
        self.looks.append((seconds(target.header.stamp), target.point.y != 0.0))

    def _on_joints(self, joints: JointState) -> None:
        arms = [angle for name, angle in zip(joints.name, joints.position, strict=True) if not name.startswith('head')]
        self.arms.append((seconds(joints.header.stamp), float(np.abs(arms).max())))


def aftermath(witness: Witness, done: Interrupted) -> tuple[dict[str, float], list[str]]:
    """How long after the interruption the last of each kind came (s), and what came too late."""
    last: dict[str, float] = defaultdict(float)
    for stamp, turn_id, what in witness.said:
        if turn_id == done.turn_id:
            last[what] = max(last[what], stamp - done.stamp)
    for instant, turn_id in witness.loud:
        if turn_id == done.turn_id:
            last['sound'] = max(last['sound'], instant - done.stamp)
    arms = [(stamp - done.stamp, distance) for stamp, distance in witness.arms if 0 < stamp - done.stamp < AFTERMATH]
    furthest = max((distance for stamp, distance in arms), default=0.0)
    last['arms'] = next((stamp for stamp, distance in arms if distance >= furthest - STILL), 0.0)
    last['eyes aside'] = eyes_aside(witness, done)
    faults = [f'{what} {after * 1000:.0f} ms after {done.by} in the {done.moment}'
              for what, after in last.items() if after > ALLOWED]
    return last, faults


def eyes_aside(witness: Witness, done: Interrupted) -> float:
    """How long after the interruption the eyes were last aside (s), as far as the old turn goes."""
    aside, until = False, 0.0
    for stamp, is_aside in sorted(witness.looks):
        after = stamp - done.stamp
        if after >= LOOKS_AGAIN:
            break
        if aside and after > 0:
            until = after
        aside = is_aside
    return LOOKS_AGAIN if aside else until


@dataclass
class Outcome:
    """What a campaign found."""

    made: Counter[tuple[str, str]] = field(default_factory=Counter)
    last: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    faults: list[str] = field(default_factory=list)


def interrupt_once(visitors: Visitors, witness: Witness, chance: random.Random, kind: tuple[str, str], number: int
                   ) -> Interrupted | None:
    """One visitor asks and breaks in; what follows is heard by the witness."""
    by, moment = kind
    visitors.until(visitors.is_quiet, PATIENCE)
    conversation, known = f'visitor-{number}', set(visitors.onsets)
    witness.said.clear()
    witness.loud.clear()
    witness.arms.clear()
    witness.looks.clear()
    visitors.say(chance.choice(OPEN), conversation)
    done = visitors.interrupt(known, Interruption(by, moment, chance.uniform(0.0, 0.8)), PATIENCE)
    if done is not None:
        if by == UTTERANCE:
            visitors.say('Wait, stop.', conversation)
        visitors.pause(AFTERMATH)
        visitors.stop(PATIENCE)
    return done


def campaign(visitors: Visitors, interruptions: int, seed: int) -> Outcome:
    """Make so many interruptions, of every kind in turn, of a robot with a body and without L0."""
    outcome, chance = Outcome(), random.Random(seed)
    kinds = [(by, moment) for moment in MOMENTS for by in (UTTERANCE, VOICE, STOP)]
    witness = Witness(visitors)
    for number in track(range(interruptions * 2), 'interrupting', console=Console(stderr=True), transient=True):
        done = interrupt_once(visitors, witness, chance, kinds[number % len(kinds)], number)
        if done is not None:
            last, faults = aftermath(witness, done)
            outcome.made[done.by, done.moment] += 1
            outcome.faults += faults
            for what, after in last.items():
                outcome.last[what].append(after)
        if outcome.made.total() == interruptions:
            break
    return outcome


def main() -> int:
    """Run and print."""
    exit_on_sigterm()
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else INTERRUPTIONS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with (
        tempfile.TemporaryDirectory() as folder,
        embodied_robot(FilePath(folder), dict(os.environ), *WITHOUT_L0, thinking=THINKING),
        Visitors() as visitors,
    ):
        visitors.wait_for_robot(START_DEADLINE)
        outcome = campaign(visitors, wanted, seed)
    made = ', '.join(f'{count} by {by} in the {moment}' for (by, moment), count in sorted(outcome.made.items()))
    print(f'{outcome.made.total()} interruptions, seed {seed}: {made}')
    table = Table('last of the old turn', 'turns with any', 'P50', 'P95', 'worst')
    for what, after in sorted(outcome.last.items()):
        table.add_row(what, str(len(after)), *(f'{np.percentile(after, q) * 1000:.0f} ms' for q in (50, 95, 100)))
    Console(width=100).print(table)
    print(f'{len(outcome.faults)} later than {ALLOWED * 1000:.0f} ms')
    for fault in outcome.faults[:20]:
        print('  ', fault)
    return int(bool(outcome.faults) or outcome.made.total() < wanted)


if __name__ == '__main__':
    sys.exit(main())
