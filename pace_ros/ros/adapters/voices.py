"""What visitors say, from the recognisers of ROS4HRI robots."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from std_msgs.msg import Bool

from pace_msgs import msg
from pace_ros.ros.adapters.interfaces import NONE, find_interface
from pace_ros.ros.qos import EVENTS, SENSOR
from pace_ros.voice_track import VoiceTrack

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # ROS 2 Humble
    from rclpy.qos_event import SubscriptionEventCallbacks

# A lingering voice may still be recognised: the final text comes after it has fallen silent.
LINGER = 10.0  # s
MOST_VOICES = 32
VOICE_ID = re.compile(r'[A-Za-z0-9_]{1,64}')
# Some recognisers latch the list of voices, others repeat it: both kinds are heard, and hearing twice does no harm.
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
REPEATED = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE)


@dataclass
class Ear:
    """What is listened to of one voice; ``gone`` is when it left the list (s, ROS time)."""

    subscriptions: list[Any] = field(default_factory=list)
    track: VoiceTrack = field(default_factory=VoiceTrack)
    gone: float | None = None


class Voices:
    """Listens to every tracked voice; everything happens in the executor's thread."""

    def __init__(
        self,
        node: Node,
        namespace: str,
        on_utterance: Callable[[msg.Utterance], None],
        on_speaking: Callable[[bool], None],
    ) -> None:
        """``namespace`` holds ``tracked`` and the voices' own topics; "none" leaves the adapter out.

        ``on_utterance`` gets hypotheses (``partial``) and utterances, stamped with the end of speech where it is
        known; ``on_speaking`` whether any voice is active, on every change.
        """
        self._node = node
        self._namespace = namespace.rstrip('/')
        self._on_utterance = on_utterance
        self._on_speaking = on_speaking
        self._ears: dict[str, Ear] = {}
        self._strange: set[str] = set()
        self._speaking = False
        ids_list = None if namespace == NONE else find_interface(node, 'hri_msgs', 'msg', 'IdsList')
        self._speech = None if namespace == NONE else find_interface(node, 'hri_msgs', 'msg', 'LiveSpeech')
        self._lists: list[Any] = []
        if ids_list is not None and self._speech is not None:
            silent = SubscriptionEventCallbacks(use_default_callbacks=False)
            self._lists = [
                node.create_subscription(ids_list, f'{self._namespace}/tracked', self._on_ids, qos,
                                         event_callbacks=silent)
                for qos in (LATCHED, REPEATED)
            ]

    def available(self) -> bool:
        """Whether the package is installed and somebody publishes voices now."""
        return bool(self._lists) and self._node.count_publishers(self._lists[0].topic_name) > 0

    def destroy(self) -> None:
        """Listen no more."""
        for voice in list(self._ears):
            self._forget(voice)
        for subscription in self._lists:
            self._node.destroy_subscription(subscription)
        self._lists = []

    def _on_ids(self, message: Any) -> None:
        present, now = set(message.ids), self._now()
        for voice in message.ids:
            if voice in self._ears:
                self._ears[voice].gone = None
            elif len(self._ears) < MOST_VOICES and self._is_usable(voice):
                self._listen_to(voice)
        for voice, ear in list(self._ears.items()):
            if voice in present:
                continue
            if ear.gone is None:
                ear.gone = now
                self._active(ear, active=False)
            elif not 0.0 <= now - ear.gone <= LINGER:
                self._forget(voice)

    def _is_usable(self, voice: str) -> bool:
        usable = VOICE_ID.fullmatch(voice) is not None
        if not usable and voice not in self._strange and len(self._strange) < MOST_VOICES:
            self._strange.add(voice)
            self._node.get_logger().warning(f'no topic can be named after the voice {voice!r}: it is not heard')
        return usable

    def _listen_to(self, voice: str) -> None:
        ear = self._ears[voice] = Ear()
        topic = f'{self._namespace}/{voice}'
        ear.subscriptions = [
            self._node.create_subscription(self._speech, f'{topic}/speech', partial(self._on_speech, voice, ear),
                                           EVENTS),
            self._node.create_subscription(Bool, f'{topic}/is_speaking', partial(self._on_is_speaking, ear), SENSOR),
        ]

    def _forget(self, voice: str) -> None:
        for subscription in self._ears.pop(voice).subscriptions:
            self._node.destroy_subscription(subscription)

    def _on_is_speaking(self, ear: Ear, message: Bool) -> None:
        self._active(ear, active=bool(message.data))

    def _active(self, ear: Ear, *, active: bool) -> None:
        ear.track.speaking(self._now(), active=active)
        speaking = any(each.track.is_speaking for each in self._ears.values())
        if speaking != self._speaking:
            self._speaking = speaking
            self._on_speaking(speaking)

    def _on_speech(self, voice: str, ear: Ear, message: Any) -> None:
        heard = ear.track.recognised(message.final, message.incremental, self._now())
        if heard is None:
            return
        confidence = float(message.confidence)
        utterance = msg.Utterance(
            utterance_id=heard.utterance_id,
            conversation_id=voice,
            text=heard.text,
            partial=heard.partial,
            locale=locale_of(message),
            confidence=min(confidence, 1.0) if confidence > 0.0 else 0.0,
        )
        if heard.speech_end is not None:
            utterance.header.stamp = Time(nanoseconds=round(heard.speech_end * 1e9)).to_msg()
        self._on_utterance(utterance)

    def _now(self) -> float:
        return float(self._node.get_clock().now().nanoseconds) * 1e-9


def locale_of(message: Any) -> str:
    """A recogniser's locale as a BCP 47 tag, empty where it tells none; some versions of hri_msgs call it language."""
    return str(getattr(message, 'locale', '') or getattr(message, 'language', '')).replace('_', '-')
