"""A cloud that is none: an OpenAI-compatible endpoint whose time, trouble and answers are drawn from a seed."""
from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from pace_ros.language import normal_form
from pace_ros.study.cloud.asked import Asked, BadRequest
from pace_ros.study.cloud.draw import Draw
from pace_ros.study.cloud.generation import Dropped, Generation, Plan
from pace_ros.study.cloud.limits import Outages, TokenBucket
from pace_ros.study.cloud.pieces import MODEL, ending, limited, streamed, whole
from pace_ros.study.cloud.reply import EVENTS, JSON, Reply
from pace_ros.study.cloud.settings import REFUSED, CloudSettings
from pace_ros.study.cloud.transport import SimulatedTransport


class Speaker(Protocol):
    """What a simulated cloud says."""

    def reply(self, messages: Sequence[Mapping[str, str]], settings: CloudSettings, *, seed: int, chance: float) -> str:
        """The answer to a chat; ``chance`` is uniform in [0, 1)."""
        ...


class SimulatedCloud:
    """Answers POST /v1/chat/completions, streamed or whole, GET /v1/models and GET /health, whatever the prefix.

    Waits on timers of the running asyncio loop alone. The draws of a request are keyed by ``seed``, its last user
    message, how often that was asked, and the attempt, so that they are the same in every arm. What the cloud computes
    itself is done inside ``free()``. One cloud for one run and one loop.
    """

    def __init__(
        self,
        speaker: Speaker,
        settings: CloudSettings | None = None,
        *,
        seed: int = 0,
        free: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self.settings = settings or CloudSettings()
        self.in_flight = 0
        self.requests = 0
        self._speaker = speaker
        self._seed = seed
        self._free = free
        self._slots = asyncio.Semaphore(self.settings.slots)
        self._bucket = TokenBucket(self.settings.rate_limit, self.settings.burst)
        self._outages = Outages(self.settings.outage_times)
        self._began = math.nan
        self._announced: Counter[str] = Counter()
        self._asked: Counter[tuple[str, int]] = Counter()

    @functools.cached_property
    def transport(self) -> SimulatedTransport:
        """The cloud in the network's place, for an ``httpx`` client in this process."""
        return SimulatedTransport(self, self._free)

    def begin(self) -> None:
        """Outages count from now, else from the first request. Needs the running loop."""
        self._began = asyncio.get_running_loop().time()

    def announce(self, question: str) -> None:
        """This question is put to the robot once more. Where all are announced, the k-th asking of a question has the
        same draw in every arm, whether or not the earlier ones came as far as the cloud.
        """
        self._announced[normal_form(question)] += 1

    def respond(self, method: str, path: str, body: bytes = b'') -> Reply:
        """Take a request that arrives now; the stream in the reply must be closed. Raises Dropped for a connection that
        is refused.
        """
        now = asyncio.get_running_loop().time()
        self._began = now if math.isnan(self._began) else self._began
        if self._outages.hold(now - self._began):
            if self.settings.outage_kind == REFUSED:
                raise Dropped('the connection was refused')
            return self._refusal(503, 'The service is not available.')
        route = f'{method} {path.rstrip("/").rsplit("/v1", 1)[-1]}'
        if route == 'GET /models':
            entry = {'id': MODEL, 'object': 'model', 'created': 0, 'owned_by': 'pace_ros'}
            return Reply(200, body=json.dumps({'object': 'list', 'data': [entry]}).encode())
        if route == 'GET /health':
            return Reply(200, body=b'{"status":"ok"}')
        if route != 'POST /chat/completions':
            return self._refusal(404, f'There is no {method} {path}.')
        return self._chat(body, now)

    def _chat(self, body: bytes, now: float) -> Reply:
        self.requests += 1
        wait = self._bucket.wait(now)
        if wait > 0.0:
            return self._refusal(429, 'Too many requests.', {'retry-after': str(math.ceil(wait))})
        try:
            asked = Asked.read(body)
        except BadRequest as error:
            return self._refusal(400, str(error))
        draw = self._draw(asked.question)
        if draw.fault < self.settings.error_share:
            return self._refusal(500, 'Something went wrong.')
        text = self._speaker.reply(asked.messages, self.settings, seed=self._seed, chance=draw.wording).strip()
        plan = self._plan(asked, text, draw, now)
        self.in_flight += 1
        return Reply(200, EVENTS if asked.stream else JSON, stream=Generation(plan, self._slots, self._over))

    def _draw(self, question: str) -> Draw:
        """The chance of this request: of this attempt at what was announced so often."""
        key = normal_form(question)
        time = self._announced[key]
        self._asked[key, time] += 1
        return Draw.of(self._seed, key, time, self._asked[key, time])

    def _plan(self, asked: Asked, text: str, draw: Draw, now: float) -> Plan:
        settings = self.settings
        said = text if asked.limit is None else limited(text, asked.limit)
        finish = 'stop' if said == text else 'length'
        pieces = streamed(said, settings.deltas)
        times = list(itertools.accumulate(draw.gaps(pieces.tokens[1:], settings),
                                          initial=draw.first_token(settings, self.in_flight)))
        usage = (asked.tokens, sum(pieces.tokens))
        if asked.stream:
            end = ending(finish, usage if asked.usage else None)
            payloads = (*pieces.payloads[:-1], pieces.payloads[-1] + end)
        else:
            payloads, times = (whole(said, finish, usage),), times[-1:]
        place = 1 + int(draw.place * (len(payloads) - 1)) if len(payloads) > 1 else 0
        dropped = settings.error_share + settings.drop_share
        cut = self._began + self._outages.next(now - self._began) if settings.outage_kind == REFUSED else math.inf
        return Plan(
            payloads, tuple(times), cut=cut,
            drop=place if draw.fault < dropped else None,
            stall=place if dropped <= draw.fault < dropped + settings.stall_share else None,
        )

    def _refusal(self, status: int, words: str, headers: Mapping[str, str] | None = None) -> Reply:
        body = json.dumps({'error': {'message': words, 'code': status}}).encode()
        return Reply(status, body=body, headers=headers or {}, delay=self.settings.refusal_delay)

    def _over(self) -> None:
        self.in_flight -= 1
