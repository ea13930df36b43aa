"""The simulated cloud of a spot check: a process of its own that is told what the visitors are about to ask.

python3 -m pace_ros.ros.spot_cloud takes the options of ``study cloud``. ``Announcer`` is the visitors' end.
"""
from __future__ import annotations

import argparse
import queue
import sys
import threading
from types import TracebackType

import httpx

from pace_ros.study.cloud import Answers, CloudError, SimulatedCloud, tool
from pace_ros.study.cloud.reply import Reply
from pace_ros.study.cloud.server import serve
from pace_ros.study.datasets.registry import load
from pace_ros.study.datasets.world import World

ANNOUNCE = '/announce'
TIMEOUT = 2.0  # s


class ToldCloud(SimulatedCloud):
    """Takes POST .../announce with a question as its body, so that chance is the same as in virtual time."""

    def respond(self, method: str, path: str, body: bytes = b'') -> Reply:
        """As any simulated cloud, and announcements."""
        if method == 'POST' and path.endswith(ANNOUNCE):
            self.announce(body.decode('utf-8', 'replace'))
            return Reply(200, body=b'{}')
        return super().respond(method, path, body)


class Announcer:
    """Tells a cloud from a thread of its own, so that no visitor waits. Leaving the context ends it."""

    def __init__(self, base_url: str) -> None:
        """``base_url`` empty: nobody is told."""
        self._url = f'{base_url.rstrip("/")}{ANNOUNCE}' if base_url else ''
        self._questions: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name='announcer', daemon=True)
        self.untold = 0
        self._thread.start()

    def __enter__(self) -> Announcer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._questions.put(None)
        self._thread.join(TIMEOUT)

    def tell(self, question: str) -> None:
        """This question is about to be put; returns at once."""
        self._questions.put(question)

    def _run(self) -> None:
        with httpx.Client(timeout=TIMEOUT, trust_env=False) as client:
            while (question := self._questions.get()) is not None:
                self.untold += not (self._url == '' or self._told(client, question))

    def _told(self, client: httpx.Client, question: str) -> bool:
        try:
            return client.post(self._url, content=question.encode()).is_success
        except httpx.HTTPError:
            return False


def main() -> int:
    """Serve until interrupted; prints the base URL once it listens."""
    parser = argparse.ArgumentParser(prog='spot_cloud', description='The simulated cloud of a spot check.')
    tool.add_arguments(parser)
    options = parser.parse_args()
    try:
        settings = tool.settings_of(options)
        data = load(options.dataset, options.data)
        cloud = ToldCloud(Answers(data, World(data)), settings, seed=options.seed)
        serve(cloud, options.port, lambda url: print(url, flush=True))  # noqa: T201  what the caller waits for
    except (CloudError, ValueError, OSError) as error:
        sys.stderr.write(f'{error}\n')
        return 2
    return 0


if __name__ == '__main__':
    sys.exit(main())
