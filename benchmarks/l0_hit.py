"""L0 hit inside the node over encoder plus bare FAISS search, side by side in one run.

    scripts/run python3 benchmarks/l0_hit.py [ENTRIES ...]

Both answer the same paraphrase of a cached question, in turn. The node's time runs from the receipt of the utterance
message to the return of the first frame's publication; the bare time is one encoding and one search of an exact
inner-product index of the same size. The ratio is taken pair by pair, with fillers as always (`fixed`) and without
(`off`): a filler launched for a turn that takes longer than 6 ms competes with it for processor and memory.
"""
from __future__ import annotations

import os
import statistics
import sys
import tempfile
import threading
import time

import faiss
import numpy as np

os.environ.setdefault('ROS_DOMAIN_ID', '77')
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

import rclpy
from rclpy.parameter import Parameter

from pace_msgs import msg
from pace_ros.cache import CacheEntry
from pace_ros.embedding import Vector
from pace_ros.ros.dialogue import SWITCH_INTERVAL, DialogueNode
from pace_ros.turn import FrameKind, Path, ResponseFrame

ROUNDS = 200
SIZES = (100, 2000, 100_000)
QUESTION, PARAPHRASE = 'How do I fold the rear seats of the car?', 'How do I fold the back seats of the car?'
PAUSE = 0.02  # s between rounds, so that a cancelled filler has ended


class FirstFrame:
    """Stands between the core and the publishers and notes when the first answer frame is out."""

    def __init__(self, node: DialogueNode) -> None:
        self._publish = node._outlet.frame  # noqa: SLF001  measured at the seam
        node._outlet.frame = self.frame  # noqa: SLF001
        self.out = threading.Event()
        self.at = 0.0
        self.path = Path.UNKNOWN

    def frame(self, frame: ResponseFrame) -> None:
        """Publish, then note the time."""
        self._publish(frame)
        if frame.kind is FrameKind.ANSWER and not self.out.is_set():
            self.at, self.path = time.perf_counter(), frame.path
            self.out.set()


def filled(node: DialogueNode, size: int) -> faiss.Index:
    """Fill the node's cache and a bare index with the same vectors; returns the index."""
    cache, embedder = node._assembly.cache, node._assembly.embedder  # noqa: SLF001
    cache.clear()
    random = np.random.default_rng(7)
    vectors: list[Vector] = [embedder.embed(QUESTION)]
    for _ in range(size - 1):
        vector = random.standard_normal(embedder.dimension).astype(np.float32)
        vectors.append(vector / np.linalg.norm(vector))
    index = faiss.IndexFlatIP(embedder.dimension)
    index.add(np.stack(vectors))
    for number, vector in enumerate(vectors):
        question = QUESTION if number == 0 else f'question {number}'
        cache.admit(CacheEntry(question, 'Pull the lever beside the head rest and push the back down.' * 3, 'en', (),
                               time.time(), None), vector)
    return index


def compare(node: DialogueNode, first: FirstFrame, index: faiss.Index, filler: str) -> None:
    """Measure one size and print its row."""
    node.set_parameters([Parameter('filler.mode', value=filler)])
    embedder = node._assembly.embedder  # noqa: SLF001
    inside, bare = [], []
    for number in range(ROUNDS + 20):
        first.out.clear()
        begin = time.perf_counter()
        node._on_utterance(msg.Utterance(text=PARAPHRASE, locale='en-US', conversation_id=f'c{number}'))  # noqa: SLF001
        if not first.out.wait(5.0) or first.path is not Path.L0:
            sys.exit(f'no L0 answer: {first.path.name}')
        taken = first.at - begin
        time.sleep(PAUSE)
        begin = time.perf_counter()
        index.search(embedder.embed(PARAPHRASE)[None, :], 8)
        other = time.perf_counter() - begin
        time.sleep(PAUSE)
        if number >= 20:
            inside.append(taken)
            bare.append(other)
    ratios = sorted(mine / other for mine, other in zip(inside, bare, strict=True))
    mine, other = statistics.median(inside), statistics.median(bare)
    print(f'{index.ntotal:>8} entries, filler {filler:>5}: node {1e3 * mine:6.2f} ms, bare {1e3 * other:6.2f} ms, '
          f'ratio median {statistics.median(ratios):.2f} (p5 {ratios[len(ratios) // 20]:.2f}, '
          f'p95 {ratios[-len(ratios) // 20]:.2f})', flush=True)


def main() -> None:
    """Measure every size."""
    sizes = [int(each) for each in sys.argv[1:]] or SIZES
    sys.setswitchinterval(SWITCH_INTERVAL)
    faiss.omp_set_num_threads(1)  # as the node does
    rclpy.init()
    with tempfile.TemporaryDirectory() as folder:
        node = DialogueNode(parameter_overrides=[
            Parameter('data_dir', value=folder), Parameter('l0.capacity', value=max(sizes)),
            Parameter('l0.file', value='none'), Parameter('router.theta_cache', value=0.85),
            Parameter('speech.enabled', value=False),
        ])
        node.trigger_configure()
        node.trigger_activate()
        first = FirstFrame(node)
        for size in sizes:
            index = filled(node, size)
            for filler in ('fixed', 'off'):
                compare(node, first, index, filler)
        node.trigger_shutdown()
        node.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    main()
