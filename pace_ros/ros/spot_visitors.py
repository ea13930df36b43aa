"""Visitors who come on a schedule and wait for nobody: a stream of requests over DDS, and what came back when."""
from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType, TracebackType

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from pace_msgs import msg
from pace_ros.ros.handshake import Handshake
from pace_ros.ros.qos import EVENTS
from pace_ros.ros.visitors import RobotAbsent
from pace_ros.study.workload.request import Request

LEAD = 0.2  # s between the call and the earliest message
AHEAD = 0.05  # s before a question is put in which a simulated cloud is told of it
TICK = 0.05  # s between looks for the end and for signals
CONVERSATION = 'spot-'


@dataclass
class Visit:
    """What the visitors saw of one request, in s since the run began, NaN where it did not happen.

    ``sent`` is the instant before publication, ``answered`` that of the first answer frame with text, ``ended`` that of
    the turn.
    """

    sent: float = math.nan
    answered: float = math.nan
    ended: float = math.nan

    @property
    def first_response(self) -> float:
        """From sending to the first answer frame (s)."""
        return self.answered - self.sent


@dataclass(frozen=True)
class Due:
    """One utterance and when it is to be published, s since the run began."""

    at: float
    index: int
    text: str
    locale: str
    partial: bool


def _first_word(request: Request) -> float:
    """When the request begins to be heard (s since the run began)."""
    return request.at - max((before for before, _ in request.hypotheses), default=0.0)


def schedule(requests: Sequence[Request], *, hypotheses: bool = True) -> list[Due]:
    """Every utterance of a stream in order of time, unfinished ``hypotheses`` included or not."""
    dues = [
        Due(each.at - before, each.index, words, each.question.locale, partial)
        for each in requests
        for before, words, partial in (
            *((before, words, True) for before, words in each.hypotheses), (0.0, each.question.text, False),
        )
        if hypotheses or not partial
    ]
    return sorted(dues, key=lambda due: (due.at, due.index, not due.partial))


@contextlib.contextmanager
def signals_noted() -> Iterator[threading.Event]:
    """Meanwhile SIGINT and SIGTERM set the event, so that rclpy is left between two spins, never half done."""
    noted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield noted  # only the main thread gets signals
        return

    def note(_number: int, _frame: FrameType | None) -> None:
        noted.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class SpotVisitors:
    """One node for all visitors; every request is a conversation of its own. Leaving the context takes it down."""

    def __init__(self, namespace: str = '', arm: msg.Arm | None = None) -> None:
        """``arm`` goes with every utterance: experiment switches, obeyed where ``allow_overrides`` is set."""
        self._own_context = not rclpy.ok()
        if self._own_context:
            rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node(f'spot_visitors_{time.time_ns() % 10**9}', namespace=namespace or None)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._arm = arm or msg.Arm()
        self._utterances = self._node.create_publisher(msg.Utterance, 'utterance', EVENTS)
        self._ears = [
            self._node.create_subscription(msg.ResponseFrame, 'answer', self._on_answer, EVENTS),
            self._node.create_subscription(msg.Turn, 'turn', self._on_turn, EVENTS),
        ]
        self._begin = 0.0
        self.visits: dict[int, Visit] = {}
        self.ended = 0

    def __enter__(self) -> SpotVisitors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(timeout_sec=0.5)
        self._node.destroy_node()
        if self._own_context:
            rclpy.try_shutdown()

    def wait_for_robot(self, timeout: float, check: Callable[[], None] = lambda: None) -> None:
        """Wait until the node hears and is heard; ``check`` is called meanwhile and may raise.

        Raises RobotAbsent after ``timeout`` s, and KeyboardInterrupt.
        """
        met = Handshake(self._node, self._node.resolve_topic_name('turn'))
        deadline = time.monotonic() + timeout
        with signals_noted() as noted:
            try:
                while not (self._connected() and met.poll(time.monotonic())):
                    _unless(noted)
                    check()
                    if time.monotonic() > deadline:
                        raise RobotAbsent(f'No dialogue node has answered within {timeout:g} s.')
                    self._executor.spin_once(timeout_sec=TICK)
            finally:
                met.close()

    def play(
        self, requests: Sequence[Request], *, hypotheses: bool, patience: float,
        announce: Callable[[str], None] = lambda _question: None, check: Callable[[], None] = lambda: None,
        on_progress: Callable[[int, int], None] = lambda _sent, _ended: None,
    ) -> dict[int, Visit]:
        """Publish every request when it is due, whatever has been answered, and wait for the turns.

        ``hypotheses``: unfinished ones too, as partial utterances. ``announce`` is given every question AHEAD s before
        its first word is heard.
        Ends ``patience`` s after the last request was due at the latest. ``check`` is called now and then and may
        raise; ``on_progress`` is given how many requests were sent and have ended. Raises KeyboardInterrupt on a
        signal.
        """
        waiting = deque(schedule(requests, hypotheses=hypotheses))
        announced = deque(sorted((_first_word(each) - AHEAD, each.question.text) for each in requests))
        self.visits, self.ended = {each.index: Visit() for each in requests}, 0
        earliest = waiting[0].at if waiting else 0.0
        self._begin = time.monotonic() + LEAD - min(0.0, earliest)
        last = waiting[-1].at if waiting else 0.0
        sent, looked = 0, -math.inf
        with signals_noted() as noted:
            while waiting or (self.ended < len(self.visits) and self._now() < last + patience):
                while announced and announced[0][0] <= self._now():
                    announce(announced.popleft()[1])
                while waiting and waiting[0].at <= self._now():
                    sent += self._publish(waiting.popleft())
                if self._now() >= looked + TICK:
                    looked = self._now()
                    _unless(noted)
                    check()
                    on_progress(sent, self.ended)
                next_due = min(waiting[0].at if waiting else math.inf, announced[0][0] if announced else math.inf)
                self._executor.spin_once(timeout_sec=min(max(next_due - self._now(), 0.0), TICK))
        on_progress(sent, self.ended)
        return self.visits

    def _now(self) -> float:
        return time.monotonic() - self._begin

    def _connected(self) -> bool:
        return self._utterances.get_subscription_count() > 0 and all(
            self._node.count_publishers(ear.topic_name) for ear in self._ears
        )

    def _publish(self, due: Due) -> int:
        """Publish one utterance, stamped with the instant of sending; returns how many requests that were."""
        message = msg.Utterance(
            text=due.text, locale=due.locale, partial=due.partial, arm=self._arm, utterance_id=str(due.index),
            conversation_id=f'{CONVERSATION}{due.index}',
        )
        message.header.stamp = self._node.get_clock().now().to_msg()
        if not due.partial:
            self.visits[due.index].sent = self._now()
        self._utterances.publish(message)
        return int(not due.partial)

    def _on_answer(self, frame: msg.ResponseFrame) -> None:
        visit = self._visit(frame.conversation_id)
        if visit is not None and math.isnan(visit.answered) and frame.text.strip():
            visit.answered = self._now()

    def _on_turn(self, turn: msg.Turn) -> None:
        visit = self._visit(turn.conversation_id)
        if visit is not None and math.isnan(visit.ended):
            visit.ended = self._now()
            self.ended += 1

    def _visit(self, conversation: str) -> Visit | None:
        number = conversation.removeprefix(CONVERSATION)
        return self.visits.get(int(number)) if number.isdecimal() else None


def _unless(noted: threading.Event) -> None:
    if noted.is_set():
        raise KeyboardInterrupt
