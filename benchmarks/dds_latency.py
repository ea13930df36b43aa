"""Utterance to first answer frame over DDS, over what cannot be avoided: a DDS echo, one encoding, one FAISS search.

    scripts/run python3 benchmarks/dds_latency.py [ENTRIES ...]

The dialogue node and the echo are processes of their own. Each round asks a paraphrase of a cached question (L0), a
question of the knowledge base (L1), the echo, and encodes and searches here; ratios are taken round by round.
"""
from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath

os.environ.setdefault('ROS_DOMAIN_ID', '78')
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

import faiss
import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor

from pace_msgs import msg
from pace_ros.cache import CacheEntry, SemanticCache
from pace_ros.clock import SystemClock
from pace_ros.config_levels import Embedding
from pace_ros.embedding import Embedder, Vector, open_embedder
from pace_ros.ros.qos import EVENTS
from pace_ros.turn import Path

ROUNDS, WARM_UP = 200, 20
SIZES = (100, 2000, 100_000)
QUESTION, PARAPHRASE = 'How do I fold the rear seats of the car?', 'How do I fold the back seats of the car?'
KNOWN = 'What is the range of the Lark?'
ANSWER = 'Pull the lever beside the head rest and push the back down. ' * 3


def echo() -> None:
    """Answer every utterance on `echo_in` with a frame on `echo_out`, at once."""
    rclpy.init()
    node = rclpy.create_node('echo')
    out = node.create_publisher(msg.ResponseFrame, 'echo_out', EVENTS)
    reply = msg.ResponseFrame(last=True)
    node.create_subscription(msg.Utterance, 'echo_in', lambda _message: out.publish(reply), EVENTS)
    rclpy.spin(node)


def cache_of(size: int, embedder: Embedder, path: FilePath) -> faiss.Index:
    """Write a cache file of that size and return a bare index of the same vectors."""
    random = np.random.default_rng(7)
    vectors: list[Vector] = [embedder.embed(QUESTION)]
    for _ in range(size - 1):
        vector = random.standard_normal(embedder.dimension).astype(np.float32)
        vectors.append(vector / np.linalg.norm(vector))
    questions = [QUESTION, *(f'question {number}' for number in range(1, size))]
    cache = SemanticCache(
        dimension=embedder.dimension, capacity=size, half_life=86_400.0, clock=SystemClock(), file=path,
        fingerprint=embedder.fingerprint,
    )
    for question, vector in zip(questions, vectors, strict=True):
        cache.admit(CacheEntry(question, ANSWER, 'en', (), 0.0, None), vector)
    cache.close()
    index = faiss.IndexFlatIP(embedder.dimension)
    index.add(np.stack(vectors))
    return index


@contextmanager
def process(*command: str) -> Iterator[None]:
    """Run a process for the while."""
    started = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        started.terminate()
        started.wait(10.0)


class Asker:
    """Publishes an utterance and waits for the first frame of the reply."""

    def __init__(self) -> None:
        self._node = rclpy.create_node('asker')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._first = threading.Event()
        self._ended = threading.Event()
        self._ended.set()
        self.path = Path.UNKNOWN
        names = ('utterance', 'echo_in')
        self._out = {name: self._node.create_publisher(msg.Utterance, name, EVENTS) for name in names}
        for name in ('answer', 'echo_out'):
            self._node.create_subscription(msg.ResponseFrame, name, self._on_frame, EVENTS)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def wait_for_peers(self) -> None:
        """Wait until node and echo are there."""
        deadline = time.monotonic() + 120.0
        while not all(out.get_subscription_count() for out in self._out.values()):
            if time.monotonic() > deadline:
                sys.exit('the dialogue node or the echo does not start')
            time.sleep(0.1)
        time.sleep(1.0)

    def ask(self, topic: str, text: str, conversation: str) -> float:
        """Seconds from publication to the first frame."""
        self._first.clear()
        self._ended.clear()
        begin = time.perf_counter()
        self._out[topic].publish(msg.Utterance(text=text, locale='en-US', conversation_id=conversation))
        if not self._first.wait(10.0):
            sys.exit(f'no answer to {text!r}')
        taken = self._at - begin
        self._ended.wait(10.0)
        return taken

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown(timeout_sec=1.0)
        self._node.destroy_node()

    def _on_frame(self, frame: msg.ResponseFrame) -> None:
        if not self._first.is_set():
            self._at, self.path = time.perf_counter(), Path(frame.path)
            self._first.set()
        if frame.last:
            self._ended.set()


def compare(size: int, embedder: Embedder) -> None:
    """Measure one size and print its rows."""
    with tempfile.TemporaryDirectory() as folder:
        index = cache_of(size, embedder, FilePath(folder) / 'l0.sqlite')
        options = [f'data_dir:={folder}', f'l0.capacity:={size}', 'router.theta_cache:=0.85', 'speech.enabled:=false']
        arguments = [part for each in options for part in ('-p', each)]
        with process('-m', 'pace_ros.ros.dialogue', '--ros-args', *arguments), process(__file__, '--echo'):
            asker = Asker()
            asker.wait_for_peers()
            taken: dict[str, list[float]] = {'L0': [], 'L1': [], 'floor': []}
            for number in range(ROUNDS + WARM_UP):
                l0 = asker.ask('utterance', PARAPHRASE, f'a{number}')
                if asker.path is not Path.L0:
                    sys.exit(f'expected L0, not {asker.path.name}')
                l1 = asker.ask('utterance', KNOWN, f'b{number}')
                echoed = asker.ask('echo_in', PARAPHRASE, '')
                begin = time.perf_counter()
                index.search(embedder.embed(PARAPHRASE)[None, :], 8)
                floor = echoed + time.perf_counter() - begin
                if number >= WARM_UP:
                    for name, value in (('L0', l0), ('L1', l1), ('floor', floor)):
                        taken[name].append(value)
            asker.close()
    for name in ('L0', 'L1'):
        ratio = statistics.median(mine / other for mine, other in zip(taken[name], taken['floor'], strict=True))
        print(f'{size:>8} entries, {name}: {1e3 * statistics.median(taken[name]):6.2f} ms, echo + encode + search '
              f'{1e3 * statistics.median(taken["floor"]):6.2f} ms, ratio median {ratio:.2f}', flush=True)


def main() -> None:
    """Measure every size."""
    if '--echo' in sys.argv:
        echo()
        return
    rclpy.init()
    faiss.omp_set_num_threads(1)  # as the node does
    embedder = open_embedder(Embedding())
    for size in [int(each) for each in sys.argv[1:]] or SIZES:
        compare(size, embedder)
    rclpy.try_shutdown()


if __name__ == '__main__':
    main()
