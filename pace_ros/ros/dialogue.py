"""The `dialogue` node: a lifecycle node around the core."""
from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
import threading
import time
from functools import partial
from types import FrameType
from typing import Any

import rclpy
from geometry_msgs.msg import PointStamped
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Bool

from pace_msgs import msg
from pace_ros.assembly import Assembly
from pace_ros.clock import SystemClock
from pace_ros.ros import conversions
from pace_ros.ros.ask_server import AskServer
from pace_ros.ros.core_thread import CoreThread
from pace_ros.ros.diagnostics import diagnose
from pace_ros.ros.limbs import Limbs
from pace_ros.ros.logs import forward_logs
from pace_ros.ros.parameters import NodeConfig
from pace_ros.ros.publishers import Publishers
from pace_ros.ros.qos import EVENTS, SENSOR
from pace_ros.ros.services import Services
from pace_ros.settings import ConfigError

STATE_PERIOD = 1.0  # s
WARM_UP_DEADLINE = 20.0  # s
CLOSE_DEADLINE = 4.0  # s
FAREWELL = 0.2  # s for the results of goals that were running
# The interpreter hands the processor to another thread this often (s); its default of 5 ms shows in an answer of 2 ms.
SWITCH_INTERVAL = 0.0001


class DialogueNode(LifecycleNode):
    """`configure` loads models and indexes, `activate` opens the ears, `inactive` is silent, `cleanup` frees all."""

    def __init__(self, ended: threading.Event | None = None, **options: Any) -> None:
        """Declare the parameters; ``ended`` is set when the node is shut down from outside.

        Raises ConfigError with a sentence that names the parameter at fault.
        """
        super().__init__('dialogue', **options)
        forward_logs(self.get_logger())
        self.config = NodeConfig(self, self._state_changed)
        self._ended = ended or threading.Event()
        self._clock_of_core = SystemClock()
        self._active = False
        self._core: CoreThread | None = None
        self._assembly: Assembly | None = None
        self._outlet: Publishers | None = None
        self._limbs: Limbs | None = None
        self._parts: list[AskServer | Services] = []
        self._ears: list[Any] = []
        self._timer: Any = None

    # -- lifecycle --------------------------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load everything; on failure one sentence says what is wrong and nothing stays loaded."""
        try:
            self._core = CoreThread()
            self._outlet = Publishers(self, self.config)
            self._limbs = Limbs(
                self, self.config, self._outlet, on_utterance=self._on_utterance, on_speaking=self._voice_activity,
            )
            self._assembly = Assembly(
                self.config, self._clock_of_core, outlet=self._outlet, speaker=self._limbs.speaker,
                on_traffic=self._outlet.traffic,
            )
            self._core.submit(self._assembly.warm_up()).result(WARM_UP_DEADLINE)
        except Exception as error:
            self.get_logger().error(f'cannot be configured: {error}')
            self._release()
            return TransitionCallbackReturn.FAILURE
        self._parts = [
            AskServer(self, self._core, self._assembly.dialogue, lambda: self._active),
            Services(self, self._core, self._assembly),
        ]
        self._outlet.on_turn = self._state_changed
        self._listen()
        self._timer = self.create_timer(STATE_PERIOD, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(
            f'configured: {len(self._assembly.knowledge)} knowledge entries, '
            f'{len(self._assembly.cache)} cached answers, '
            f'L2 at {self._assembly.endpoint.base_url}, speech to {self._limbs.speaker.name}'
        )
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the ears."""
        result = super().on_activate(state)
        self._active = True
        self.get_logger().info('listening')
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the ears and stop what runs; its records are still published."""
        self.quiesce()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Free everything; caches and records are on disk afterwards."""
        self._release()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The same from any state, and the process ends."""
        self.quiesce()
        self._release()
        self._ended.set()
        return super().on_shutdown(state)

    @property
    def finalized(self) -> bool:
        """Whether a lifecycle manager has shut the node down already."""
        return self._state_machine.current_state[1] == 'finalized'

    # -- ears -------------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        options = {'qos_overriding_options': QoSOverridingOptions.with_default_policies()}
        self._ears = [
            self.create_subscription(msg.Utterance, 'utterance', self._on_utterance, EVENTS, **options),
            self.create_subscription(Bool, 'user_speaking', self._on_user_speaking, SENSOR, **options),
            self.create_subscription(PointStamped, 'speaker_position', self._on_speaker, SENSOR, **options),
        ]

    def _on_utterance(self, message: msg.Utterance) -> None:
        received = time.perf_counter()
        if not self._active or self._core is None or self._assembly is None:
            return
        utterance = conversions.utterance_from(message, received=received, now=self.get_clock().now().to_msg())
        dialogue = self._assembly.dialogue
        self._core.call_soon(dialogue.hear_partial if utterance.partial else dialogue.submit, utterance)

    def _on_user_speaking(self, message: Bool) -> None:
        self._voice_activity(message.data)

    def _voice_activity(self, active: bool) -> None:
        if self._active and self._core is not None and self._assembly is not None:
            self._core.call_soon(partial(self._assembly.dialogue.voice_activity, active=active))

    def _on_speaker(self, message: PointStamped) -> None:
        if self._outlet is not None:
            self._outlet.speaker_at(message)

    # -- state ------------------------------------------------------------------------------------------------------

    def _state_changed(self) -> None:
        if self._outlet is not None and self._assembly is not None:
            self._outlet.state(self._assembly.controller_state(), always=False)

    def _report(self) -> None:
        if self._outlet is None or self._assembly is None:
            return
        self._outlet.state(self._assembly.controller_state(), always=True)
        if self._core is not None:
            self._core.call_soon(partial(self._assembly.every_second, active=self._active))
        problems = self._limbs.problems() if self._limbs is not None else {}
        self._outlet.diagnostics(diagnose(self.get_fully_qualified_name(), self._assembly, self.config(), problems))

    # -- ends -------------------------------------------------------------------------------------------------------

    def quiesce(self) -> None:
        """Close the ears and stop every turn; goals still get their results as long as the executor spins."""
        self._active = False
        if self._core is not None and self._assembly is not None:
            self._core.submit(self._assembly.dialogue.aclose()).result(CLOSE_DEADLINE)
        if self._limbs is not None:
            self._limbs.relax()

    def _release(self) -> None:
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        for ear in self._ears:
            self.destroy_subscription(ear)
        for part in self._parts:
            part.destroy()
        self._ears, self._parts = [], []
        if self._core is not None:
            if self._assembly is not None:
                try:
                    self._core.submit(self._assembly.aclose()).result(CLOSE_DEADLINE)
                except Exception as error:
                    self.get_logger().error(f'did not close cleanly: {error!r}')
            self._core.stop()
        if self._limbs is not None:
            self._limbs.destroy()
        if self._outlet is not None:
            self._outlet.destroy()
        self._core = self._assembly = self._outlet = self._limbs = None
        free_memory()


def free_memory() -> None:
    """Give the models' memory back: the parts refer to each other in circles, and glibc keeps what it has freed."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def spin(executor: SingleThreadedExecutor, node: DialogueNode, failed: threading.Event, stop: threading.Event) -> None:
    """Serve callbacks until the executor is shut down; a node that has gone deaf must not linger."""
    try:
        executor.spin()
    except ExternalShutdownException:
        return
    except Exception as error:  # a bug in a callback: the process ends, and respawns where it is told to
        node.get_logger().fatal(f'the executor ended: {error!r}')
        failed.set()
        stop.set()


def started(node: DialogueNode) -> bool:
    """Configure and activate, if the node is to do that by itself; says whether nothing went wrong."""
    if not node.config().autostart:
        return True
    success = TransitionCallbackReturn.SUCCESS
    return node.trigger_configure() == success and node.trigger_activate() == success


def serve(node: DialogueNode, stop: threading.Event) -> int:
    """Spin until ``stop``, end the turns while their results can still be sent, and return the exit code."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    failed = threading.Event()
    spinner = threading.Thread(target=spin, args=(executor, node, failed, stop), name='ros', daemon=True)
    spinner.start()
    stop.wait()
    if not failed.is_set():
        node.quiesce()
        time.sleep(FAREWELL)
    executor.shutdown(timeout_sec=0.5)
    spinner.join(timeout=0.5)
    return int(failed.is_set())


def main() -> None:
    """Run the node until SIGINT or SIGTERM, then put everything on disk and end."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    stop, starting = threading.Event(), threading.Event()
    starting.set()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if starting.is_set():
            os._exit(128 + number)  # models are loading: there is nothing to save, and no use in waiting for them
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        node = DialogueNode(stop)
    except ConfigError as error:
        sys.exit(str(error))
    except Exception as error:  # rclpy's own classes: a parameter file that is not there, a namespace that is none
        sys.exit(f'The node cannot be started: {error}')
    running = started(node)
    starting.clear()
    code = serve(node, stop) if running else 1
    if not node.finalized:
        node.trigger_shutdown()
    node.destroy_node()
    rclpy.try_shutdown()
    sys.exit(code)


if __name__ == '__main__':
    main()
