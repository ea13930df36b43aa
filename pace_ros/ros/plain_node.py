"""How a node without lifecycle runs: until SIGINT or SIGTERM, with one sentence if it cannot start."""
from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

SPIN = 0.1  # s between two looks at whether to stop
FAREWELL = 0.2  # s for the last messages to leave
T = TypeVar('T', bound=Node)


def run_node(make: Callable[[], T], refusals: tuple[type[Exception], ...], *, close: Callable[[T], None]) -> None:
    """Make the node, spin it until a signal, ``close`` it while it can still publish, and exit.

    ``refusals`` are the errors whose message is a sentence for the operator.
    """
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        node = make()
    except refusals as error:
        sys.exit(str(error))
    except Exception as error:  # rclpy's own classes: a parameter file that is not there, a namespace that is none
        sys.exit(f'The node cannot be started: {error}')
    code = _serve(node, stop, close)
    node.destroy_node()
    rclpy.try_shutdown()
    sys.exit(code)


def _serve(node: T, stop: threading.Event, close: Callable[[T], None]) -> int:
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while not stop.is_set():
            executor.spin_once(timeout_sec=SPIN)
        close(node)
        time.sleep(FAREWELL)
    except ExternalShutdownException:
        return 0
    except Exception as error:  # a bug in a callback: the process ends, and respawns where it is told to
        node.get_logger().fatal(f'the executor ended: {error!r}')
        return 1
    finally:
        executor.shutdown(timeout_sec=0.5)
    return 0
