"""The branches of the configuration tree that concern the robot's body: voice, gaze, gestures."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.settings import setting


@dataclass(frozen=True)
class BargeIn:
    """What silences the robot."""

    on_voice: bool = setting(False, 'Stop speaking when user_speaking turns true; needs echo cancellation.')


@dataclass(frozen=True)
class Speech:
    """The robot's voice."""

    enabled: bool = setting(True, 'Speak the answers.')
    sink: str = setting('auto', 'auto: alsa where a device is found, else null; null keeps true timing in silence; '
                        'topic publishes samples.', choices=('auto', 'null', 'alsa', 'topic'), read_only=True)
    device: str = setting('default', 'ALSA playback device.', read_only=True)
    rate: int = setting(190, 'Words a minute.', low=80, high=450, read_only=True)
    latency: float = setting(0.0, 'What the ALSA device adds between a sample handed over and heard.', low=0.0,
                             high=2.0)
    level: bool = setting(True, 'Publish audio_level, the loudness of what is played.')


@dataclass(frozen=True)
class Nonverbal:
    """When looking away and thinking poses may fill a wait; whether they do is the filler policy's decision."""

    law: str = setting('fixed', 'fixed: each after its own delay; expected: later where a longer wait is expected, and '
                       'none where the answer is expected within the tolerance.', choices=('fixed', 'expected'))
    share: float = setting(0.5, 'Law expected: the delay as a share of the expected first-token time.', low=0.0,
                           high=10.0)
    tolerance: float = setting(1.0, 'Law expected: a wait people do not mind in a robot.', low=0.0, high=10.0)


@dataclass(frozen=True)
class Gaze:
    """Where the robot looks."""

    enabled: bool = setting(True, 'Look at the speaker on receipt.')
    target_frame: str = setting('visitor', 'Frame looked at when no speaker_position is known.')
    aversion: bool = setting(True, 'Look aside while the language model thinks, and back with the answer.')
    aversion_delay: float = setting(0.6, 'Time since receipt before looking aside.', low=0.0, high=30.0)
    aversion_side: float = setting(0.6, 'How far beside the speaker, left and right in turn (m, y of the frame).',
                                   low=0.0, high=10.0)
    aversion_up: float = setting(0.0, 'How far above the speaker (m, z of the frame); a look that moves the pitch '
                                 'hides the next nod from an observer.', low=-10.0, high=10.0)


@dataclass(frozen=True)
class GestureSettings:
    """Which motions the robot makes, by the names of gestures.yaml; an empty name or list: none."""

    enabled: bool = setting(True, 'Make gestures.')
    nod: str = setting('nod', 'On receipt.')
    thinking: tuple[str, ...] = setting(('think', 'ponder'), 'While the language model thinks, never the same twice '
                                        'running.')
    thinking_delay: float = setting(1.2, 'Time since receipt before a thinking pose.', low=0.0, high=30.0)
    beats: tuple[str, ...] = setting(('beat_right', 'beat_left'), 'With the sentences of a long answer but its first, '
                                     'in turn.')
    beat_period: float = setting(2.5, 'Least time between two of them.', low=0.1, high=60.0)
    names_file: str = setting('', "Gestures with the robot's own motions (YAML); empty: the packaged gestures.yaml.",
                              read_only=True)


@dataclass(frozen=True)
class Adapters:
    """Interfaces of other packages, spoken where those are installed; the name "none" leaves one out."""

    tts: str = setting('tts_engine/tts', 'Action of tts_msgs that speaks instead of our own synthesiser, if its server '
                       'is there.', read_only=True)
    look_at: str = setting('skill/look_at', 'Action of interaction_skills that looks at gaze targets.',
                           read_only=True)
    point_head: str = setting('none', 'Action of control_msgs (PointHead) that looks at gaze targets.', read_only=True)
    play_motion: str = setting('play_motion2', 'Action of play_motion2_msgs that makes gestures.', read_only=True)
    voices: str = setting('/humans/voices', 'Namespace in which hri_msgs recognisers publish what visitors say.',
                          read_only=True)
    skip_planning: bool = setting(False, 'Go to a motion of play_motion2 in a straight line, on robots without a '
                                  'motion planner.', read_only=True)
    deadline: float = setting(2.0, 'Longest wait for another node to accept a goal.', low=0.05, high=60.0,
                              read_only=True)
