"""A small data set, and a robot's client that asks the simulated cloud in virtual time."""
from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pace_ros.config_levels import L2
from pace_ros.llm import ChatClient, Completion, Endpoint, L2Error
from pace_ros.retrieval import KnowledgeEntry
from pace_ros.study.cloud import Answers, CloudSettings, SimulatedCloud
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.datasets.world import World
from pace_ros.study.virtual.loop import LoopClock, VirtualLoop, run

T = TypeVar('T')
EXACT = CloudSettings(first_token_sigma=0.0, first_token_median=1.0, gap_mean=0.0, knee=1e6, power=4.0, knows=0.0,
                      admits=0.0)
"""Every answer is whole after 1 s."""

PRICE = Question('q1', '云雀多少钱？', 'zh-CN', 'price', '云雀的官方指导价是199800元。', volatile=True, sources=('e1',))
RANGE = Question('q2', '云雀能跑多远？', 'zh-CN', 'range', '云雀满电可以跑605公里。', topic='car', sources=('e2',))
RANGE_EN = Question('q3', 'How far does the Lark go?', 'en-US', 'range', 'The Lark goes 605 km on one charge.',
                    topic='car', sources=('e2',))
COLOUR = Question('q4', '云雀有什么颜色？', 'zh-CN', 'colour', '云雀有白色和蓝色。', topic='car', sources=('e4',))
YEAR = Question('q5', '公司哪年成立？', 'zh-CN', 'year', '1987年', accepted=('1987年', '1987'), sources=('e5',))
QUESTIONS = (PRICE, RANGE, RANGE_EN, COLOUR, YEAR)
KNOWLEDGE = (
    KnowledgeEntry('e1', {'zh': (PRICE.text,)}, {'zh': PRICE.answer}),
    KnowledgeEntry('e2', {'zh': (RANGE.text,)}, {'zh': RANGE.answer, 'en': RANGE_EN.answer}),
    KnowledgeEntry('e4', {'zh': (COLOUR.text,)}, {'zh': COLOUR.answer}),
    KnowledgeEntry('e5', {}, {'zh': '公司成立于1987年，总部在江边。'}),
)
DATA = DataSet('small', '1', QUESTIONS, knowledge=KNOWLEDGE)


@dataclass
class Heard:
    """What the robot got of one request; times in s since the loop began."""

    sent: float
    ended: float = 0.0
    pieces: list[str] = field(default_factory=list)
    report: Completion = field(default_factory=Completion)
    error: L2Error | None = None

    @property
    def text(self) -> str:
        """The answer as far as it came."""
        return ''.join(self.pieces)


class Robot:
    """The real client, whose network is the cloud."""

    def __init__(self, cloud: SimulatedCloud, **l2: object) -> None:
        patient = {'retries': 0, 'first_token_timeout': 100.0, 'total_timeout': 300.0, 'breaker_failures': 100}
        settings = L2(**{**patient, **l2})  # type: ignore[arg-type]
        clock = LoopClock(asyncio.get_running_loop())
        self.client = ChatClient(Endpoint('http://cloud/v1', 'any'), lambda: settings, clock, cloud.transport)

    async def ask(self, question: str, system: str = '', at: float = 0.0) -> Heard:
        """Ask at an instant."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(at - loop.time())
        heard = Heard(loop.time())
        messages = [{'role': 'system', 'content': system}, {'role': 'user', 'content': question}]
        try:
            async for piece in self.client.stream(messages, heard.report):
                heard.pieces.append(piece)
        except L2Error as error:
            heard.error = error
        heard.ended = loop.time()
        return heard


def cloud_of(settings: CloudSettings = EXACT, *, seed: int = 0) -> SimulatedCloud:
    """A cloud that knows the small data set."""
    return SimulatedCloud(Answers(DATA, World(DATA)), settings, seed=seed)


def in_virtual_time(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run where waiting costs nothing and computing takes no time."""
    return run(VirtualLoop(measured=False), work())
