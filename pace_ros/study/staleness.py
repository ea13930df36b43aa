"""How stale a cache's answers are while what they state keeps changing, by admission policy.

The real dialogue, cache, classifier, guards and knowledge base in virtual time; the language model is simulated: it
always knows the present edition of every fact, so that whatever is stale was made stale by the cache.
"""
from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx

from pace_ros import packaged
from pace_ros.assembly import Assembly
from pace_ros.clock import VirtualClock
from pace_ros.config import Config
from pace_ros.embodiment import LocalSpeaker, Pyttsx3Synthesizer
from pace_ros.embodiment.sink import NullSink
from pace_ros.retrieval import read_knowledge
from pace_ros.settings import with_values
from pace_ros.substitutes import Substitutes
from pace_ros.turn import Onset, Path, ResponseFrame, SpeechState, TurnRecord, Utterance

HOUR = 3600.0
QUESTIONS, CHANGES, HOURS, ASKED_AN_HOUR = 105, 104, 2.0, 4.0


@dataclass(frozen=True)
class Arm:
    """An admission policy; ``events``: each change is told to the node by ``~/invalidate``."""

    name: str
    policy: str
    ttl: float = HOUR
    events: bool = False


ARMS = (
    Arm('no admission', 'off'),
    Arm('TTL 1 h', 'ttl', HOUR),
    Arm('TTL 15 min', 'ttl', HOUR / 4),
    Arm('deny', 'deny'),
    Arm('no admission, events', 'off', events=True),
)


@dataclass(frozen=True)
class Staleness:
    """What an arm answered: how many turns, of these from L0, stale, and asked after the fact had changed."""

    arm: Arm
    answers: int
    cached: int
    stale: int
    after_change: int
    stale_rejects: int
    bound: float

    @property
    def rate(self) -> float:
        """Stale answers over the answers to questions whose fact had changed before."""
        return self.stale / self.after_change if self.after_change else 0.0

    @property
    def cached_rate(self) -> float:
        """Stale answers over those from the cache; under TTL at most ``bound``, 1 - exp(-r_e ttl) (property 6)."""
        return self.stale / self.cached if self.cached else 0.0


class SimulatedOracle:
    """Stands in for the cloud: an OpenAI-compatible endpoint that states the present edition of a question's fact."""

    def __init__(self, facts: Mapping[str, str]) -> None:
        self._facts = facts
        self.edition: Counter[str] = Counter()
        self.transport = httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        fact = self._facts[json.loads(request.content)['messages'][-1]['content']]
        text = f'{fact} in edition {self.edition[fact]}.'
        chunk = {'choices': [{'delta': {'content': text}, 'finish_reason': 'stop'}]}
        return httpx.Response(
            200, headers={'Content-Type': 'text/event-stream'}, text=f'data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n'
        )


class Silence:
    """An outlet nobody listens to."""

    def frame(self, _frame: ResponseFrame) -> None:
        """Ignore a frame."""

    def onset(self, _onset: Onset) -> None:
        """Ignore an onset."""

    def turn(self, _record: TurnRecord) -> None:
        """Ignore a record."""

    def speech(self, _state: SpeechState) -> None:
        """Ignore speech."""

    def look_at_speaker(self) -> None:
        """Ignore a look."""

    def look_aside(self, _side: float, _up: float) -> None:
        """Ignore a look."""

    def gesture(self, _turn_id: str, _name: str) -> None:
        """Ignore a gesture."""

    def rest(self) -> None:
        """Ignore the end of a gesture."""


def volatile_questions(count: int) -> dict[str, str]:
    """The first ``count`` questions to the showroom's volatile entries, with the entry that each is about."""
    entries = [each for each in read_knowledge([packaged.config_dir() / 'knowledge']) if each.volatile]
    pairs = [
        (question, entry.entry_id)
        for rank in range(8) for entry in entries for questions in entry.questions.values()
        for question in questions[rank:rank + 1]
    ]
    return dict(pairs[:count])


async def run(
    arm: Arm, *, seed: int = 1, questions: int = QUESTIONS, changes: int = CHANGES, hours: float = HOURS,
    asked_an_hour: float = ASKED_AN_HOUR,
) -> Staleness:
    """Ask every question once, then at random while ``changes`` facts change at random times within ``hours``."""
    chance = random.Random(seed)  # noqa: S311  a simulation
    facts = volatile_questions(questions)
    oracle, clock = SimulatedOracle(facts), VirtualClock()
    config = _config(arm)
    mute = LocalSpeaker(Pyttsx3Synthesizer(config.speech.rate), NullSink())
    assembly = Assembly(lambda: config, clock, outlet=Silence(), speaker=mute,
                        instead=Substitutes(transport=oracle.transport))
    tally = Counter[str]()
    try:
        for at, question in _script(chance, list(facts), changes, hours, asked_an_hour):
            clock.advance(at - clock.monotonic())
            fact = facts[question.removeprefix('!')]
            if question.startswith('!'):
                oracle.edition[fact] += 1
                if arm.events:
                    assembly.freshness.invalidate([fact], [])
                continue
            record = await _ask(assembly, question, clock)
            tally['answers'] += 1
            tally['cached'] += record.path is Path.L0
            tally['stale'] += record.answer.strip() != f'{fact} in edition {oracle.edition[fact]}.'
            tally['after change'] += oracle.edition[fact] > 0
        rate = changes / (len(set(facts.values())) * hours * HOUR)
        return Staleness(
            arm, tally['answers'], tally['cached'], tally['stale'], tally['after change'],
            assembly.cache.stale_rejects, 1 - math.exp(-rate * arm.ttl) if arm.policy == 'ttl' else math.nan,
        )
    finally:
        await assembly.aclose()


def _script(
    chance: random.Random, questions: Sequence[str], changes: int, hours: float, asked_an_hour: float
) -> list[tuple[float, str]]:
    """What happens when (s): questions, and after an exclamation mark those whose fact changes."""
    every_one = [(float(number), question) for number, question in enumerate(questions)]
    begin, end = float(len(questions)), len(questions) + hours * HOUR
    events = [(chance.uniform(begin, end), f'!{chance.choice(questions)}') for _ in range(changes)]
    count = round(asked_an_hour * hours * len(questions))
    asked = [(chance.uniform(begin, end), chance.choice(questions)) for _ in range(count)]
    return every_one + sorted(events + asked)


async def _ask(assembly: Assembly, question: str, clock: VirtualClock) -> TurnRecord:
    turn = assembly.dialogue.submit(Utterance(question, clock.monotonic(), conversation_id=question[:64]))
    await turn.ended.wait()
    if turn.task is not None:
        await turn.task  # the answer is admitted after its last frame
    assembly.dialogue.end_conversation(question[:64])
    return turn.record


def _config(arm: Arm) -> Config:
    return with_values(Config(), {
        'l0.file': 'none', 'record.file': 'none', 'router.file': 'none', 'router.mode': 'static',
        'l1.enabled': False, 'filler.mode': 'off', 'filler.generator': False, 'speech.enabled': False,
        'gaze.enabled': False, 'volatility.policy': arm.policy, 'volatility.ttl': arm.ttl,
    })
