"""The `dialogue` node: a lifecycle node around the core."""
from __future__ import annotations

import signal
import sys
import threading
import time
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
from pace_ros.embodiment import open_sink
from pace_ros.ros import conversions
from pace_ros.ros.ask_server import AskServer
from pace_ros.ros.core_thread import CoreThread
from pace_ros.ros.diagnostics import diagnose
from pace_ros.ros.logs import forward_logs
from pace_ros.ros.parameters import NodeConfig
from pace_ros.ros.publishers import Publishers
from pace_ros.ros.qos import EVENTS, SENSOR
from pace_ros.ros.services import Services
from pace_ros.settings import ConfigError

STATE_PERIOD = 1.0  # s
WARM_UP_DEADLINE = 20.0  # s
CLOSE_DEADLINE = 4.0  # s
# The interpreter hands the processor to another thread this often (s); its default of 5 ms shows in an answer of 2 ms.
SWITCH_INTERVAL = 0.0001


class DialogueNode(LifecycleNode):
    """`configure` loads models and indexes, `activate` opens the ears, `inactive` is silent, `cleanup` frees all."""

    def __init__(self, **options: Any) -> None:
        """Declare the parameters. Raises ConfigError with a sentence that names the parameter at fault."""
        super().__init__('dialogue', **options)
        forward_logs(self.get_logger())
        self.config = NodeConfig(self, self._on_config)
        self._clock_of_core = SystemClock()
        self._active = False
        self._core: CoreThread | None = None
        self._assembly: Assembly | None = None
        self._outlet: Publishers | None = None
        self._parts: list[AskServer | Services] = []
        self._ears: list[Any] = []
        self._timer: Any = None

    # -- lifecycle --------------------------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load everything; on failure one sentence says what is wrong and nothing stays loaded."""
        config = self.config()
        try:
            self._core = CoreThread()
            self._outlet = Publishers(self, self.config)
            sink = open_sink(config.speech.sink, config.speech.device, self._outlet.audio)
            self._assembly = Assembly(self.config, self._clock_of_core, outlet=self._outlet, sink=sink)
            self._core.submit(self._assembly.warm_up()).result(WARM_UP_DEADLINE)
        except Exception as error:
            self.get_logger().error(f'cannot be configured: {error}')
            self._release()
            return TransitionCallbackReturn.FAILURE
        self._parts = [
            AskServer(self, self._core, self._assembly.dialogue, lambda: self._active),
            Services(self, self._core, self._assembly),
        ]
        self._listen()
        self._timer = self.create_timer(STATE_PERIOD, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(
            f'configured: {len(self._assembly.knowledge)} knowledge entries, '
            f'{len(self._assembly.cache)} cached answers, '
            f'L2 at {self._assembly.endpoint.base_url}, speech to {sink.name}'
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
        self._active = False
        self._stop_turns()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Free everything; caches and records are on disk afterwards."""
        self._release()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The same from any state."""
        self._active = False
        self._release()
        return super().on_shutdown(state)

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
        if not self._active or message.partial or self._core is None or self._assembly is None:
            return
        utterance = conversions.utterance_from(message, received=received, now=self.get_clock().now().to_msg())
        self._core.call_soon(self._assembly.dialogue.submit, utterance)

    def _on_user_speaking(self, message: Bool) -> None:
        if self._active and self._core is not None and self._assembly is not None:
            dialogue, active = self._assembly.dialogue, message.data
            self._core.call_soon(lambda: dialogue.voice_activity(active=active))

    def _on_speaker(self, message: PointStamped) -> None:
        if self._outlet is not None:
            self._outlet.speaker_at(message)

    # -- state ------------------------------------------------------------------------------------------------------

    def _on_config(self) -> None:
        if self._outlet is not None and self._assembly is not None:
            self._outlet.state(self._assembly.router.state(), always=False)

    def _report(self) -> None:
        if self._outlet is None or self._assembly is None:
            return
        self._outlet.state(self._assembly.router.state(), always=True)
        self._outlet.diagnostics(diagnose(self.get_fully_qualified_name(), self._assembly, self.config()))

    # -- ends -------------------------------------------------------------------------------------------------------

    def _stop_turns(self) -> None:
        if self._core is not None and self._assembly is not None:
            self._core.submit(self._assembly.dialogue.aclose()).result(CLOSE_DEADLINE)

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
        if self._outlet is not None:
            self._outlet.destroy()
        self._core = self._assembly = self._outlet = None


def spin(executor: SingleThreadedExecutor) -> None:
    """Serve callbacks until the executor or the context is shut down."""
    try:
        executor.spin()
    except ExternalShutdownException:
        return


def started(node: DialogueNode) -> bool:
    """Configure and activate, if the node is to do that by itself; says whether nothing went wrong."""
    if not node.config().autostart:
        return True
    success = TransitionCallbackReturn.SUCCESS
    return node.trigger_configure() == success and node.trigger_activate() == success


def main() -> None:
    """Run the node until SIGINT or SIGTERM, then put everything on disk and end."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = DialogueNode()
    except ConfigError as error:
        sys.exit(str(error))
    code = 0 if started(node) else 1
    if code == 0:
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        spinner = threading.Thread(target=spin, args=(executor,), name='ros', daemon=True)
        spinner.start()
        stop.wait()
        executor.shutdown(timeout_sec=0.5)
        spinner.join(timeout=0.5)
    node.trigger_shutdown()
    node.destroy_node()
    rclpy.try_shutdown()
    sys.exit(code)


if __name__ == '__main__':
    main()
