"""A real dialogue node in its own process, a scripted cloud in a thread, and a listener on the topics."""
from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from geometry_msgs.msg import PointStamped
from rclpy.executors import SingleThreadedExecutor
from support import Script, ScriptedCloud, scripted_cloud

from pace_msgs import msg
from pace_ros.ros.handshake import Handshake
from pace_ros.ros.qos import EVENTS, STATE

ROOT = Path(__file__).resolve().parents[1]
START_DEADLINE = 60.0
QUICK = ['speech.enabled:=false', 'filler.generator:=false', 'l0.file:=none', f'l1.knowledge:=[{ROOT}/test/lark.yaml]']


def environment(**extra: str) -> dict[str, str]:
    """The test's environment, with the source tree importable."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get('PYTHONPATH', ''))))
    return {**os.environ, 'PYTHONPATH': path, **extra}


class Cloud:
    """A scripted cloud in a thread of its own, for tests that are not coroutines."""

    def __init__(self, *scripts: Script | bytes) -> None:
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._loop = asyncio.new_event_loop()
        self._scripts = scripts
        self.server: ScriptedCloud | None = None
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)
        self._thread.start()
        assert self._ready.wait(5.0)

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        async with scripted_cloud(*self._scripts) as self.server:
            self._ready.set()
            await self._stop.wait()

    @property
    def base_url(self) -> str:
        assert self.server is not None
        return self.server.base_url

    def play(self, *scripts: Script | bytes) -> None:
        """Begin with other scripts; what was asked before is forgotten."""
        assert self.server is not None
        begun = asyncio.run_coroutine_threadsafe(self.server.play(*scripts), self._loop)
        begun.result(5.0)

    def close(self) -> None:
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(2.0)


class Robot:
    """The dialogue node's process."""

    def __init__(self, folder: Path, base_url: str, parameters: list[str], remaps: list[str]) -> None:
        self.folder = folder
        self.log = folder / f'dialogue-{time.monotonic_ns()}.log'
        arguments = [part for each in [f'data_dir:={folder}', f'l2.base_url:={base_url}', *parameters]
                     for part in ('-p', each)]
        arguments += [part for each in remaps for part in ('-r', each)]
        with self.log.open('w') as log:
            self.process = subprocess.Popen(
                [sys.executable, '-m', 'pace_ros.ros.dialogue', '--ros-args', *arguments],
                env=environment(), stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )

    def wait_for(self, text: str, timeout: float = START_DEADLINE) -> None:
        """Wait until a line of the log holds this text."""
        deadline = time.monotonic() + timeout
        while text not in self.log.read_text():
            assert time.monotonic() < deadline, f'{text!r} not in the log:\n{self.log.read_text()}'
            assert self.process.poll() is None or text in self.log.read_text(), self.log.read_text()
            time.sleep(0.02)

    def interrupt(self) -> float:
        """SIGINT; returns how long the process took to end (s)."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(10.0)
        return time.monotonic() - begin


def end_all(robots: list[Robot]) -> None:
    """Let the processes leave, so that no other node believes them to be there; force those that do not within 5 s."""
    for each in robots:
        if each.process.poll() is None:
            each.process.send_signal(signal.SIGINT)
    for each in robots:
        try:
            each.process.wait(5.0)
        except subprocess.TimeoutExpired:
            each.process.kill()
            each.process.wait()


TOPICS = {
    'answer': (msg.ResponseFrame, EVENTS),
    'filler': (msg.ResponseFrame, EVENTS),
    'onset': (msg.Onset, EVENTS),
    'turn': (msg.Turn, EVENTS),
    'controller_state': (msg.ControllerState, STATE),
    'gaze_target': (PointStamped, STATE),
    'gesture': (msg.Gesture, EVENTS),
    'speech_audio': (msg.AudioChunk, EVENTS),
}


class Listener:
    """Another node: publishes utterances and keeps everything the robot says, in order of arrival."""

    def __init__(self, namespace: str = '') -> None:
        self.node = rclpy.create_node(f'listener_{time.monotonic_ns() % 10**9}', namespace=namespace or None)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.heard: dict[str, list[Any]] = defaultdict(list)
        self.order: list[tuple[str, Any]] = []
        for name, (kind, qos) in TOPICS.items():
            self.node.create_subscription(kind, name, self._keeper(name), qos)
        self.utterances = self.node.create_publisher(msg.Utterance, 'utterance', EVENTS)

    def _keeper(self, name: str) -> Callable[[Any], None]:
        def keep(message: Any) -> None:
            self.heard[name].append(message)
            self.order.append((name, message))

        return keep

    def ready(self) -> Listener:
        """Wait until the robot hears us and we hear the robot."""
        self.until(lambda: self.utterances.get_subscription_count() > 0
                   and self.node.count_publishers(self.node.resolve_topic_name('turn')) > 0)
        handshake = Handshake(self.node, self.node.resolve_topic_name('turn'))
        self.until(lambda: handshake.poll(time.monotonic()))
        return self

    def say(self, text: str, **fields: Any) -> None:
        """Publish an utterance."""
        self.utterances.publish(msg.Utterance(text=text, **fields))

    def until(self, condition: Callable[[], bool], timeout: float = 20.0) -> None:
        """Spin until the condition holds."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f'not within {timeout} s; heard {dict(self.heard)}'
            self.executor.spin_once(timeout_sec=0.05)

    def spin(self, seconds: float) -> None:
        """Spin for a while, to hear what should not come."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.02)

    def turns(self, count: int, timeout: float = 30.0) -> list[msg.Turn]:
        """Wait for that many turns."""
        self.until(lambda: len(self.heard['turn']) >= count, timeout)
        return self.heard['turn']

    def call(self, kind: Any, name: str, request: Any = None, timeout: float = 20.0) -> Any:
        """Call a service."""
        client = self.node.create_client(kind, name)
        assert client.wait_for_service(timeout_sec=10.0), name
        future = client.call_async(request or kind.Request())
        self.until(future.done, timeout)
        self.node.destroy_client(client)
        return future.result()

    def close(self) -> None:
        self.executor.shutdown(timeout_sec=0.5)
        self.node.destroy_node()
