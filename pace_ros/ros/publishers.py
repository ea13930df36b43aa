"""Everything the node says, on its topics; called from the core's thread."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PointStamped
from rclpy.lifecycle import LifecycleNode
from rclpy.qos_overriding_options import QoSOverridingOptions

from pace_msgs import msg
from pace_ros.control import ControllerState
from pace_ros.ros import conversions
from pace_ros.ros.parameters import NodeConfig
from pace_ros.ros.qos import EVENTS, STATE
from pace_ros.turn import FrameKind, Onset, ResponseFrame, TurnRecord


class Publishers:
    """The outlet of the core. While the node is inactive only state and diagnostics are published.

    ``on_turn`` is called after each turn, which may have moved the controllers.
    """

    def __init__(self, node: LifecycleNode, config: NodeConfig) -> None:
        self._node = node
        self._config = config
        self._speaker: PointStamped | None = None
        options = {'qos_overriding_options': QoSOverridingOptions.with_default_policies()}
        self._answer = node.create_lifecycle_publisher(msg.ResponseFrame, 'answer', EVENTS, **options)
        self._filler = node.create_lifecycle_publisher(msg.ResponseFrame, 'filler', EVENTS, **options)
        self._onset = node.create_lifecycle_publisher(msg.Onset, 'onset', EVENTS, **options)
        self._turn = node.create_lifecycle_publisher(msg.Turn, 'turn', EVENTS, **options)
        self._gaze = node.create_lifecycle_publisher(PointStamped, 'gaze_target', STATE, **options)
        self._gesture = node.create_lifecycle_publisher(msg.Gesture, 'gesture', EVENTS, **options)
        self._audio = node.create_lifecycle_publisher(msg.AudioChunk, 'speech_audio', EVENTS, **options)
        self._state = node.create_publisher(msg.ControllerState, 'controller_state', STATE, **options)
        self._diagnostics = node.create_publisher(DiagnosticArray, '/diagnostics', EVENTS, **options)
        self._last_state: object = None
        self.on_turn: Callable[[], None] = lambda: None

    def frame(self, frame: ResponseFrame) -> None:
        """Publish a frame on ``filler`` or ``answer``."""
        publisher = self._filler if frame.kind is FrameKind.FILLER else self._answer
        publisher.publish(conversions.frame_message(frame, self._now()))

    def onset(self, onset: Onset) -> None:
        """Publish a commanded onset."""
        self._onset.publish(conversions.onset_message(onset, self._now()))

    def turn(self, record: TurnRecord) -> None:
        """Publish the record of a turn."""
        self._turn.publish(conversions.turn_message(record, self._now()))
        self.on_turn()

    def speaker_at(self, position: PointStamped) -> None:
        """Remember where the speaker is."""
        self._speaker = position

    def look_at_speaker(self, turn_id: str) -> None:
        """Publish where the speaker is, else the configured frame."""
        if self._speaker is not None:
            self._gaze.publish(self._speaker)
            return
        target = PointStamped()
        target.header.stamp = self._now()
        target.header.frame_id = self._config().gaze.target_frame
        self._gaze.publish(target)

    def gesture(self, turn_id: str, name: str) -> None:
        """Publish a gesture by name."""
        message = msg.Gesture(turn_id=turn_id, name=name, intensity=1.0)
        message.header.stamp = self._now()
        self._gesture.publish(message)

    def audio(self, samples: npt.NDArray[np.int16], sample_rate: int, turn_id: str, flush: bool) -> None:
        """Publish speech samples (``speech.sink`` = topic)."""
        self._audio.publish(conversions.audio_message(samples, sample_rate, turn_id, self._now(), flush=flush))

    def state(self, state: ControllerState, *, always: bool) -> None:
        """Publish the controllers' state, if ``always`` or if a decision or the gate has changed."""
        seen = (state.mode, state.router.decision, state.router.gate, state.filler_decision, state.fillers_measured)
        if always or seen != self._last_state:
            self._last_state = seen
            self._state.publish(conversions.state_message(state, self._now()))

    def diagnostics(self, array: DiagnosticArray) -> None:
        """Publish the state of every level."""
        array.header.stamp = self._now()
        self._diagnostics.publish(array)

    def destroy(self) -> None:
        """Take every topic down."""
        managed = (self._answer, self._filler, self._onset, self._turn, self._gaze, self._gesture, self._audio)
        for publisher in managed:
            self._node.destroy_lifecycle_publisher(publisher)
        for publisher in (self._state, self._diagnostics):
            self._node.destroy_publisher(publisher)

    def _now(self) -> object:
        return self._node.get_clock().now().to_msg()
