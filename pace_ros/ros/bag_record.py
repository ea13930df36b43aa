"""`bag record`: hears all topics of a session and hands them to the writer."""
from __future__ import annotations

import argparse
import importlib
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
from rich.console import Console
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

from pace_ros.bags.bag_error import BagError
from pace_ros.bags.recording import Heard, Recording
from pace_ros.bags.session import Choice
from pace_ros.bags.text_permissions import TextPermissions
from pace_ros.bags.writing import BagWriter
from pace_ros.ros.handshake import Handshake
from pace_ros.ros.logs import forward_logs
from pace_ros.ros.speakers import Speakers

POLL = 0.2  # s between looks at the graph
SETTLE = 0.5  # s without anything new: the other ends of new connections know of them then
GREETING = 10.0  # s without anything new: whoever has not answered by then will not
LINGER = 0.3  # s: what was published before the signal is still on its way
DEPTH = 2000
INFORMED = hasattr(Subscription, 'CallbackType')  # whether rclpy tells when a message came (from Iron on)


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


def stamped(hear: Callable[[bytes, int], None], *, informed: bool = INFORMED) -> Callable[..., None]:
    """A callback of a raw subscription that passes the data on with the time they came (ns since the epoch)."""
    def with_info(data: bytes, info: dict[str, Any]) -> None:
        hear(data, info.get('received_timestamp') or time.time_ns())

    def without_info(data: bytes) -> None:
        hear(data, time.time_ns())

    return with_info if informed else without_info


class Recorder:
    """Subscribes to what is chosen as it appears. ``hearing`` is set once all present publishers of a session are.

    ``error`` says why nothing is heard any more.
    """

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
        self._text = TextPermissions(text, now=time.monotonic())
        self._speakers = Speakers(node, self._text)
        self.hearing = threading.Event()
        self.error = ''

    def poll(self) -> None:
        """Look at the graph: subscribe to what is new, and anew where a publisher would not be heard."""
        now = time.monotonic()
        self._speakers.poll(now)
        for topic, kinds in self._node.get_topic_names_and_types():
            if self._choice.has(topic):
                for kind in kinds:
                    self._attend(topic, kind)
        if not self.hearing.is_set() and self._since and now >= self._since + SETTLE:
            self._greet(now)

    def _greet(self, now: float) -> None:
        """Hear for certain once the robots' nodes, if there are any, know of every subscription."""
        if self._speakers.topics:
            self._handshake = self._handshake or Handshake(self._node, *self._speakers.topics)
        met = self._handshake is None or self._handshake.poll(now)
        if met and self._text.settled(now):
            self._begin()
        elif now >= self._since + GREETING:
            silent = ', '.join(name or 'a node without a name' for name in self._text.silent)
            self._node.get_logger().warning(
                f'{silent or ", ".join(sorted(self._speakers.topics))}: no answer to a question for parameters; '
                'its first messages may be missing, and what was said is left out unless --text keep is given')
            self._begin()

    def _begin(self) -> None:
        self._part()
        self.hearing.set()

    def _part(self) -> None:
        if self._handshake is not None:
            self._handshake.close()
            self._handshake = None

    def _attend(self, topic: str, kind: str) -> None:
        ends = self._node.get_publishers_info_by_topic(topic)
        profiles = [end.qos_profile for end in ends if end.topic_type == kind]
        if profiles:
            self._qos[topic] = tuple(dict.fromkeys(offered(profile) for profile in profiles))
            if self._choice.tells(topic) and (topic, kind) not in self._told:
                self._told.add((topic, kind))
                self._since = time.monotonic()
                self._part()
        wanted, ear = hearing_all(profiles), self._ears.get((topic, kind))
        if ear is None:
            if profiles or self._choice.is_input(topic):
                self._subscribe(topic, kind, wanted)
        elif profiles and _demands(ear.qos_profile) - _demands(wanted):
            self._node.destroy_subscription(ear)
            self._subscribe(topic, kind, wanted)

    def _subscribe(self, topic: str, kind: str, profile: QoSProfile) -> None:
        def hear(data: bytes, stamp: int) -> None:
            words = self._text.keeps(topic, time.monotonic())
            self._recording.put(Heard(topic, kind, stamp, data, self._qos.get(topic, ()), words))

        try:
            ear = self._node.create_subscription(message_class(kind), topic, stamped(hear), profile, raw=True)
        except ImportError as error:
            if topic not in self._refused:
                self._refused.add(topic)
                self._node.get_logger().warning(f'{topic} is not recorded: {error}')
            return
        self._ears[topic, kind] = ear
        self._text.note(topic, time.monotonic())

    @property
    def topics(self) -> int:
        """Topics that are listened to."""
        return len(self._ears)

    @property
    def without_text(self) -> bool:
        """Whether words of anybody are left out."""
        return self._text.withheld


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
    words = ', without text' if recorder.without_text else ''
    return (f'{time.monotonic() - began:6.0f} s  {recorder.topics} topics  {recording.written} messages  '
            f'{recording.bytes / 1e6:.1f} MB{lost}{words}')


def attend(recorder: Recorder, recording: Recording, stop: threading.Event, out: Path, console: Console) -> None:
    """Look at the graph until ``stop`` or an error, with a word when it hears and a line a second on a terminal."""
    began = time.monotonic()
    said = False
    with console.status('') as line:
        if not console.is_terminal:
            line.stop()
        while not (stop.is_set() or recording.error or recorder.error):
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
    recorder = Recorder(node, recording, choice, options.text)
    spinner = threading.Thread(target=spin, args=(executor, recorder), name='ros', daemon=True)
    spinner.start()
    console, began = Console(highlight=False), time.monotonic()
    attend(recorder, recording, stop, options.out, console)
    time.sleep(LINGER)
    executor.shutdown(timeout_sec=0.5)
    spinner.join(timeout=1.0)
    recording.close()
    console.print(progress(recorder, recording, began).strip())
    node.destroy_node()
    rclpy.try_shutdown()
    errors = [error for error in (recorder.error, recording.error) if error]
    sys.stderr.writelines(f'{error}\n' for error in errors)
    return int(bool(errors))


def spin(executor: SingleThreadedExecutor, recorder: Recorder) -> None:
    """Hear until the executor ends; anything else that ends it is the recorder's ``error``."""
    try:
        executor.spin()
    except ExternalShutdownException:
        return
    except Exception as error:  # the thread's last word: without it the recorder would go on for nothing
        recorder.error = f'Nothing is heard any more: {error!r}. What was written before is kept.'
