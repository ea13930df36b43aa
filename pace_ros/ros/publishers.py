"""Everything the node says, on its topics; called from the core's thread."""
from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PointStamped
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.qos_overriding_options import QoSOverridingOptions

from pace_msgs import msg
from pace_ros.control import ControllerState
from pace_ros.embodiment import Chunk, Level
from pace_ros.llm.traffic import Exchanged
from pace_ros.ros import conversions
from pace_ros.ros.parameters import NodeConfig
from pace_ros.ros.qos import EVENTS, SENSOR, STATE
from pace_ros.turn import FrameKind, Onset, ResponseFrame, SpeechState, TurnRecord

T = TypeVar('T')


class Publishers:
    """The outlet of the core. While the node is inactive only state and diagnostics are published.

    ``on_turn`` is called after each turn, which may have moved the controllers. ``gaze_followers`` and
    ``gesture_followers`` make real what is published.
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
        self._speech = node.create_lifecycle_publisher(msg.SpeechState, 'speech_state', EVENTS, **options)
        self._level = node.create_lifecycle_publisher(msg.AudioLevel, 'audio_level', SENSOR, **options)
        self._traffic = node.create_lifecycle_publisher(msg.L2Traffic, 'l2_traffic', EVENTS, **options)
        self._state = node.create_publisher(msg.ControllerState, 'controller_state', STATE, **options)
        self._diagnostics = node.create_publisher(DiagnosticArray, '/diagnostics', EVENTS, **options)
        self._last_state: object = None
        self.gaze_followers: list[Callable[[PointStamped], None]] = []
        self.gesture_followers: list[Callable[[str], None]] = []
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

    def speech(self, state: SpeechState) -> None:
        """Publish that a turn begins to be heard, or is over."""
        self._speech.publish(conversions.speech_message(state, self._now()))

    def speaker_at(self, position: PointStamped) -> None:
        """Remember where the speaker is."""
        self._speaker = position

    def look_at_speaker(self) -> None:
        """Publish where the speaker is, else the configured frame."""
        self.look_aside(0.0, 0.0)

    def look_aside(self, side: float, up: float) -> None:
        """Publish a point beside (y) and above (z) the speaker, in the speaker's frame (m)."""
        target = PointStamped()
        target.header.stamp = self._now()
        target.header.frame_id = self._config().gaze.target_frame
        if self._speaker is not None:
            target.header.frame_id = self._speaker.header.frame_id
            target.point.x = self._speaker.point.x
            target.point.y, target.point.z = self._speaker.point.y, self._speaker.point.z
        target.point.y += side
        target.point.z += up
        self._gaze.publish(target)
        for each in self.gaze_followers:
            self._follow(each, target)

    def gesture(self, turn_id: str, name: str) -> None:
        """Publish a gesture by name."""
        message = msg.Gesture(turn_id=turn_id, name=name, intensity=1.0)
        message.header.stamp = self._now()
        self._gesture.publish(message)
        for each in self.gesture_followers:
            self._follow(each, name)

    def rest(self) -> None:
        """Publish that whatever moves goes back to rest; it belongs to no turn."""
        self.gesture('', 'rest')

    def audio(self, chunk: Chunk) -> None:
        """Publish speech samples (``speech.sink`` = topic)."""
        self._audio.publish(conversions.audio_message(chunk, self._later(chunk.due_in)))

    def level(self, level: Level) -> None:
        """Publish the loudness of what is played, if wanted."""
        if self._config().speech.level:
            self._level.publish(conversions.level_message(level, self._later(-level.age)))

    def traffic(self, exchanged: Exchanged) -> None:
        """Publish a request to the language model with its answer."""
        self._traffic.publish(conversions.traffic_message(exchanged))

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
        managed = (self._answer, self._filler, self._onset, self._turn, self._gaze, self._gesture, self._audio,
                   self._level, self._speech, self._traffic)
        for publisher in managed:
            self._node.destroy_lifecycle_publisher(publisher)
        for publisher in (self._state, self._diagnostics):
            self._node.destroy_publisher(publisher)

    def _follow(self, follower: Callable[[T], None], what: T) -> None:
        """A body that cannot follow stops no answer."""
        try:
            follower(what)
        except Exception as error:
            self._node.get_logger().error(f'the body does not follow: {error!r}', once=True)

    def _now(self) -> Time:
        return self._node.get_clock().now().to_msg()

    def _later(self, seconds: float) -> Time:
        """ROS time in so many s, or so many ago."""
        return (self._node.get_clock().now() + Duration(nanoseconds=round(seconds * 1e9))).to_msg()
