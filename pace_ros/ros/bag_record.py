"""`bag record`: hears all topics of a session and hands them to the writer."""
from __future__ import annotations

import argparse
import importlib
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import rclpy
from rcl_interfaces.srv import GetParameters
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rich.console import Console
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

from pace_ros.bags.recording import Heard, Recording
from pace_ros.bags.redaction import TextPermission
from pace_ros.bags.session import Choice, resolved
from pace_ros.bags.storage import BagError
from pace_ros.bags.writing import BagWriter
from pace_ros.ros.handshake import Handshake
from pace_ros.ros.logs import forward_logs

POLL = 0.2  # s between looks at the graph
SETTLE = 0.5  # s without anything new: the other ends of new connections know of them then
TEXT_PERIOD = 5.0  # s between questions whether words may be kept
LINGER = 0.3  # s: what was published before the signal is still on its way
DEPTH = 2000


def message_class(kind: str) -> Any:
    """The Python class of a type like ``std_msgs/msg/String``. Raises ImportError if it is not installed."""
    package, _, name = kind.partition('/msg/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except (ModuleNotFoundError, AttributeError) as error:
        raise ImportError(f'the message type {kind} is not installed') from error


def offered(profile: QoSProfile) -> Qos:
    """A publisher's QoS in the words of a bag."""
    def split(duration: Any) -> QosTime:
        return QosTime(*divmod(duration.nanoseconds, 1_000_000_000))

    return Qos(
        QosHistory[profile.history.name], profile.depth,
        QosReliability[profile.reliability.name], QosDurability[profile.durability.name],
        split(profile.deadline), split(profile.lifespan),
        QosLiveliness[profile.liveliness.name], split(profile.liveliness_lease_duration),
        profile.avoid_ros_namespace_conventions,
    )


def hearing_all(profiles: list[QoSProfile]) -> QoSProfile:
    """The most demanding QoS with which every publisher of a topic is heard; without any, the least demanding."""
    reliable = bool(profiles) and all(each.reliability == ReliabilityPolicy.RELIABLE for each in profiles)
    latched = bool(profiles) and all(each.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in profiles)
    return QoSProfile(
        depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


class Recorder:
    """Subscribes to what is chosen as it appears. ``hearing`` is set once all present publishers of a session are."""

    def __init__(self, node: Node, recording: Recording, choice: Choice, text: str) -> None:
        self._node = node
        self._recording = recording
        self._choice = choice
        self._ears: dict[tuple[str, str], Any] = {}
        self._qos: dict[str, tuple[Qos, ...]] = {}
        self._refused: set[str] = set()
        self._handshake: Handshake | None = None
        self._told: set[tuple[str, str]] = set()
        self._since = 0.0
        self._asked = -TEXT_PERIOD
        self._text = TextPermission(text, now=time.monotonic())
        self.hearing = threading.Event()
        recording.keep_text = self._text.keeps(time.monotonic())
        service = resolved('dialogue/get_parameters', choice.namespace)
        self._parameters = node.create_client(GetParameters, service)

    def poll(self) -> None:
        """Look at the graph: subscribe to what is new, and anew where a publisher would not be heard."""
        now = time.monotonic()
        self._ask_for_text(now)
        for topic, kinds in self._node.get_topic_names_and_types():
            if self._choice.has(topic):
                for kind in kinds:
                    self._attend(topic, kind)
        if not self.hearing.is_set() and self._since and now >= self._since + SETTLE and self._text.settled(now):
            self._greet(now)

    def _greet(self, now: float) -> None:
        """Hear for certain once the robot's node, if there is one, knows of every subscription."""
        turn = resolved('turn', self._choice.namespace)
        if not self._node.count_publishers(turn):
            self.hearing.set()
            return
        self._handshake = self._handshake or Handshake(self._node, turn)
        if self._handshake.poll(now):
            self.hearing.set()

    def _ask_for_text(self, now: float) -> None:
        present = self._parameters.service_is_ready()
        self._text.look(present=present)
        if present and (now >= self._asked + TEXT_PERIOD or not self._text.settled(now)):
            self._asked = now
            request = GetParameters.Request(names=['record.text'])
            self._parameters.call_async(request).add_done_callback(self._on_text)
        self._recording.keep_text = self._text.keeps(now)

    def _attend(self, topic: str, kind: str) -> None:
        ends = self._node.get_publishers_info_by_topic(topic)
        profiles = [end.qos_profile for end in ends if end.topic_type == kind]
        if profiles:
            self._qos[topic] = tuple(dict.fromkeys(offered(profile) for profile in profiles))
            if self._choice.tells(topic) and (topic, kind) not in self._told:
                self._told.add((topic, kind))
                self._since = time.monotonic()
                self._handshake = None
        wanted, ear = hearing_all(profiles), self._ears.get((topic, kind))
        if ear is None:
            if profiles or self._choice.is_input(topic):
                self._subscribe(topic, kind, wanted)
        elif profiles and _demands(ear.qos_profile) - _demands(wanted):
            self._node.destroy_subscription(ear)
            self._subscribe(topic, kind, wanted)

    def _subscribe(self, topic: str, kind: str, profile: QoSProfile) -> None:
        def hear(data: bytes, info: dict[str, Any]) -> None:
            stamp = info.get('received_timestamp') or time.time_ns()
            self._recording.put(Heard(topic, kind, stamp, data, self._qos.get(topic, ())))

        try:
            ear = self._node.create_subscription(message_class(kind), topic, hear, profile, raw=True)
        except ImportError as error:
            if topic not in self._refused:
                self._refused.add(topic)
                self._node.get_logger().warning(f'{topic} is not recorded: {error}')
            return
        self._ears[topic, kind] = ear

    def _on_text(self, future: Any) -> None:
        answer = future.result()
        if answer is not None and answer.values and answer.values[0].type:
            self._text.answered(keep=bool(answer.values[0].bool_value))
            self._recording.keep_text = self._text.keeps(time.monotonic())

    @property
    def topics(self) -> int:
        """Topics that are listened to."""
        return len(self._ears)


def _demands(profile: QoSProfile) -> set[str]:
    demands = set()
    if profile.reliability == ReliabilityPolicy.RELIABLE:
        demands.add('reliable')
    if profile.durability == DurabilityPolicy.TRANSIENT_LOCAL:
        demands.add('latched')
    return demands


def progress(recorder: Recorder, recording: Recording, began: float) -> str:
    """One line of how it goes."""
    lost = f', {recording.lost} lost' if recording.lost else ''
    words = '' if recording.keep_text else ', without text'
    return (f'{time.monotonic() - began:6.0f} s  {recorder.topics} topics  {recording.written} messages  '
            f'{recording.bytes / 1e6:.1f} MB{lost}{words}')


def attend(recorder: Recorder, recording: Recording, stop: threading.Event, out: Path, console: Console) -> None:
    """Look at the graph until ``stop`` or an error, with a word when it hears and a line a second on a terminal."""
    began = time.monotonic()
    said = False
    with console.status('') as line:
        if not console.is_terminal:
            line.stop()
        while not stop.is_set() and not recording.error:
            recorder.poll()
            if recorder.hearing.is_set() and not said:
                said = True
                console.print(f'recording {out}')
                sys.stdout.flush()
            line.update(progress(recorder, recording, began) if said else 'nothing of a session is published yet')
            stop.wait(POLL)


def run(options: argparse.Namespace) -> int:
    """Record until SIGINT or SIGTERM; 0, or 1 with a sentence if the bag could not be written."""
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    choice = Choice(options.namespace, tuple(options.topics or ()), tuple(options.also or ()), options.all)
    try:
        recording = Recording(BagWriter(options.out, storage=options.storage))
    except BagError as error:
        sys.stderr.write(f'{error}\n')
        return 1
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node(f'bag_record_{time.time_ns() % 1_000_000_000}')
    forward_logs(node.get_logger())
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    spinner = threading.Thread(target=_spin, args=(executor,), name='ros', daemon=True)
    spinner.start()
    recorder = Recorder(node, recording, choice, options.text)
    console, began = Console(highlight=False), time.monotonic()
    attend(recorder, recording, stop, options.out, console)
    time.sleep(LINGER)
    executor.shutdown(timeout_sec=0.5)
    spinner.join(timeout=1.0)
    recording.close()
    console.print(progress(recorder, recording, began).strip())
    node.destroy_node()
    rclpy.try_shutdown()
    if recording.error:
        sys.stderr.write(f'{recording.error}\n')
    return int(bool(recording.error))


def _spin(executor: SingleThreadedExecutor) -> None:
    try:
        executor.spin()
    except ExternalShutdownException:
        return
