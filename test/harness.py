"""A whole dialogue for tests: real encoder, cache, knowledge, lexicon and chat client; only the cloud, the small model,
the loudspeaker and the visitor are played. Whatever a test does with it, every turn is checked for form at the end.
"""
from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path as FilePath

import anyio
import numpy as np
import pytest
from support import KeptOutlet, ScriptedCloud

from pace_ros import packaged
from pace_ros.cache import Guards, Lexicon, Personal, ScopeReader, SemanticCache, Unknowing
from pace_ros.cascade import Cascade
from pace_ros.clock import Clock, SystemClock
from pace_ros.config import Config
from pace_ros.control import CostLedger, Router
from pace_ros.dialogue import Dialogue
from pace_ros.embedding import Embedder, Vector
from pace_ros.embodiment import Audio, SpeechError, Voice
from pace_ros.facts import FactExtractor, ProductNames
from pace_ros.filler import ConflictJudge, ConflictMeter, FillerDesk, FillerFailed, FillerJob, PhraseBook
from pace_ros.levels import Levels
from pace_ros.live_turn import LiveTurn
from pace_ros.llm import ChatClient, Endpoint, HedgedChat, PromptBook
from pace_ros.record import RecordWriter, read_turns
from pace_ros.remarks import Remarks
from pace_ros.retrieval import KnowledgeBase
from pace_ros.settings import with_values
from pace_ros.turn import (
    Arm,
    Content,
    FrameKind,
    Modality,
    Onset,
    Outcome,
    Path,
    ResponseFrame,
    TurnRecord,
    Utterance,
)

# What may still come after the record: the rest of the speech, and attention, which is shown beside the answer.
MAY_FOLLOW = {
    Outcome.ANSWERED: {'onset SPEECH', 'gesture', 'onset GAZE', 'onset GESTURE'},
    Outcome.FAILED: {'onset SPEECH'},
    Outcome.REJECTED: {'onset SPEECH'},
}
PATIENCE = 8.0  # s: only a broken test or a broken robot waits that long
BOOK = PhraseBook.read(packaged.config_dir() / 'fillers.yaml', 30)
FACTS = FactExtractor.read(packaged.config_dir() / 'names.yaml', packaged.config_dir() / 'antonyms.yaml')
NAMES = ProductNames.read(packaged.config_dir() / 'names.yaml')
LEXICONS = packaged.config_dir() / 'lexicon'
LEXICON, SCOPES, PERSONAL = Lexicon.read(LEXICONS), ScopeReader.read(LEXICONS, NAMES), Personal.read(LEXICONS)
UNKNOWING = Unknowing.read(LEXICONS)
PROMPTS = PromptBook.read(packaged.config_dir() / 'persona.yaml')
REMARKS = Remarks.read(packaged.config_dir() / 'remarks.yaml')
KNOWLEDGE = """
- id: colours
  questions: {en: ["What colours can I get?"], zh: ["有哪些颜色可以选？"]}
  answer: {en: "It comes in red, blue and white.", zh: "有红色、蓝色和白色。"}
- id: toilets
  questions: {en: ["Where do I find the toilets?"]}
  answer: {en: "The toilets are behind the coffee bar."}
- id: hook
  volatile: true
  questions: {en: ["Is a tow hook fitted?"]}
  answer: {en: "A tow hook is fitted on the grey car."}
"""
# What the knowledge base answers, and what only the language model can.
COLOURS, COLOURS_ASKED_OTHERWISE = 'What colours can I get?', 'Which colours are there?'
LIGHTHOUSE, FOX, MUSIC = 'Tell me a story about a lighthouse.', 'Sing a song for the fox.', 'Do you like jazz music?'
PRICE = 'What is the price of a sandwich?'


class CountingEmbedder:
    """The real encoder, which also remembers what it was given."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.dimension, self.fingerprint = embedder.dimension, embedder.fingerprint
        self.seen: list[str] = []

    def embed(self, text: str) -> Vector:
        self.seen.append(text)
        return self._embedder.embed(text)

    def embed_passage(self, text: str) -> Vector:
        return self._embedder.embed_passage(text)


class ScriptedGenerator:
    """A filler generator that plays its script: a text, an error, or None for a job that the test resolves."""

    def __init__(self, *script: str | FillerFailed | None) -> None:
        self._script = list(script)
        self.jobs: list[FillerJob] = []
        self.busy = False
        self.closed = False

    def launch(self, question: str, locale: str, avoid: str) -> FillerJob:
        if self.busy:
            raise FillerFailed('generator busy')
        job = FillerJob(question, locale, avoid)
        job.begun = True
        outcome = self._script[min(len(self.jobs), len(self._script) - 1)] if self._script else None
        self.jobs.append(job)
        if isinstance(outcome, str):
            job.text.set_result(outcome)
        elif outcome is not None:
            job.text.set_exception(outcome)
        return job

    def close(self) -> None:
        self.closed = True


class ScriptedSynthesizer:
    """Silence of a length that tells the sentences apart; ``gates`` hold a sentence back, ``broken`` refuse it."""

    def __init__(self, *, broken: bool | str = False) -> None:
        self.broken = broken
        self.gates: dict[str, asyncio.Event] = {}
        self.texts: list[str] = []
        self.closed = False

    async def synthesise(self, text: str, locale: str) -> Audio:
        assert locale
        if text in self.gates:
            await self.gates[text].wait()
        if self.broken is True or self.broken == text:
            raise SpeechError('the engine is broken')
        self.texts.append(text)
        return Audio(np.zeros(len(self.texts), np.int16), 16000)

    def text_of(self, audio: Audio) -> str:
        return self.texts[len(audio.samples) - 1]

    async def aclose(self) -> None:
        self.closed = True


class ScriptedSink:
    """A loudspeaker that says when a sentence begins, ends, or is cut. ``hold`` keeps every sentence sounding."""

    name = 'scripted'
    plays_here = True
    latency = 0.0

    def __init__(self, synthesizer: ScriptedSynthesizer, *, hold: bool = False, slow_to_stop: float = 0.0) -> None:
        self._synthesizer = synthesizer
        self.go_on = asyncio.Event()
        if not hold:
            self.go_on.set()
        self.slow_to_stop = slow_to_stop
        self.events: list[tuple[str, str]] = []
        self.now: str = ''

    async def play(self, audio: Audio, turn_id: str, content: Content, begun: Callable[[], None]) -> None:
        assert turn_id
        begun()
        assert not self.now, 'two sentences at once'
        self.now = text = self._synthesizer.text_of(audio)
        self.events.append(('begin', text))
        try:
            await self.go_on.wait()
            self.events.append(('end', text))
        except asyncio.CancelledError:
            self.events.append(('cut', text))
            await asyncio.sleep(self.slow_to_stop)
            raise
        finally:
            self.now = ''

    def begun(self) -> list[str]:
        return [text for kind, text in self.events if kind == 'begin']


@dataclass
class Ledger(KeptOutlet):
    """A kept outlet that also knows in which order everything came."""

    events: list[tuple[str, str]] = field(default_factory=list)

    def frame(self, frame: ResponseFrame) -> None:
        super().frame(frame)
        self.events.append(('frame', frame.turn_id))

    def onset(self, onset: Onset) -> None:
        super().onset(onset)
        self.events.append((f'onset {onset.modality.name}', onset.turn_id))

    def turn(self, record: TurnRecord) -> None:
        super().turn(record)
        self.events.append(('turn', record.turn_id))

    def gesture(self, turn_id: str, name: str) -> None:
        super().gesture(turn_id, name)
        self.events.append(('gesture', turn_id))

    def of(self, turn_id: str) -> list[ResponseFrame]:
        return [frame for frame in self.frames if frame.turn_id == turn_id]


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition; fails the test if it does not come true."""
    with anyio.fail_after(PATIENCE):
        while not condition():  # noqa: ASYNC110  any condition, of any part
            await asyncio.sleep(0.002)


@dataclass
class House:
    """A dialogue and all its parts."""

    levels: Levels
    cascade: Cascade
    dialogue: Dialogue
    outlet: Ledger
    embedder: CountingEmbedder
    cache: SemanticCache
    knowledge_file: FilePath
    cloud: ScriptedCloud
    llm: ChatClient
    record_file: FilePath
    writer: RecordWriter
    config: Config
    clock: Clock
    turns: list[LiveTurn] = field(default_factory=list)

    def set(self, values: dict[str, object]) -> None:
        """Change parameters while everything runs."""
        self.config = with_values(self.config, values)

    def submit(self, text: str, conversation: str = 'default', arm: Arm | None = None, **fields: object) -> LiveTurn:
        """Say something to the robot."""
        utterance = Utterance(
            text=text, received=self.clock.monotonic(), conversation_id=conversation, arm=arm or Arm(),
            **fields,  # type: ignore[arg-type]
        )
        turn = self.dialogue.submit(utterance)
        self.turns.append(turn)
        return turn

    async def ask(self, text: str, conversation: str = 'default', arm: Arm | None = None, **fields: object
                  ) -> TurnRecord:
        """Say something and wait until all is said."""
        turn = self.submit(text, conversation, arm, **fields)
        await self.settled(turn)
        return turn.record

    async def settled(self, *turns: LiveTurn) -> None:
        """Wait until the turns have ended and their speech too."""
        await until(lambda: all(turn.ended.is_set() and turn.silent for turn in turns))

    def answers(self, turn: LiveTurn | TurnRecord) -> list[ResponseFrame]:
        return [frame for frame in self.outlet.of(turn.turn_id) if frame.kind is FrameKind.ANSWER]

    def fillers(self, turn: LiveTurn | TurnRecord) -> list[ResponseFrame]:
        return [frame for frame in self.outlet.of(turn.turn_id) if frame.kind is FrameKind.FILLER]

    def asked(self, request: int = -1) -> list[dict[str, str]]:
        """The messages of a request the cloud got."""
        messages = self.cloud.requests[request]['messages']
        assert isinstance(messages, list)
        return messages

    async def written(self) -> list[TurnRecord]:
        """The records on disk, after the writer has put down its pen."""
        await asyncio.to_thread(self.writer.close)
        return list(read_turns(self.record_file)) if self.record_file.exists() else []


def check_form(outlet: Ledger, turn: LiveTurn) -> None:
    """What holds of any turn that has ended (design sections 2, 4, 6)."""
    (published,) = [each for each in outlet.turns if each.turn_id == turn.turn_id]
    frames = outlet.of(turn.turn_id)
    assert [frame.seq for frame in frames] == list(range(len(frames)))
    assert published.frames == len(frames)
    assert sum(frame.last for frame in frames) == (published.outcome is Outcome.ANSWERED)
    assert not any(frame.last for frame in frames[:-1])
    assert {frame.conversation_id for frame in frames} <= {published.conversation_id}
    kinds = [frame.kind for frame in frames]
    assert kinds == sorted(kinds), 'a filler after the answer'
    assert kinds.count(FrameKind.FILLER) == published.filler_shown <= 1
    assert all(frame.path is Path.UNKNOWN for frame in frames if frame.kind is FrameKind.FILLER)
    assert [frame.elapsed for frame in frames] == sorted(frame.elapsed for frame in frames)
    assert ''.join(frame.text for frame in frames if frame.kind is FrameKind.ANSWER) == published.answer
    mine = [kind for kind, turn_id in outlet.events if turn_id == turn.turn_id]
    after = set(mine[mine.index('turn') + 1 :])
    assert after <= MAY_FOLLOW.get(published.outcome, set()), 'something was published after the turn'
    check_times(published, frames)
    assert published.outcome is not Outcome.UNKNOWN
    assert bool(published.reason) or published.outcome is Outcome.ANSWERED


def check_times(record: TurnRecord, frames: Iterable[ResponseFrame]) -> None:
    """PTFR and PL as section 6 defines them."""
    if record.outcome is Outcome.ANSWERED:
        assert math.isfinite(record.ptfr)
        assert record.completion >= record.ptfr
        assert record.path in (Path.L0, Path.L1, Path.L2, Path.FALLBACK)
        assert {frame.path for frame in frames if frame.kind is FrameKind.ANSWER} == {record.path}
    if math.isfinite(record.ptfr):
        assert record.ptfr == pytest.approx(record.t_embed + record.t_route + record.t_path, abs=1e-6)
        assert min(record.t_embed, record.t_route, record.t_path) >= 0.0
    if record.filler_shown:
        assert math.isfinite(record.filler_elapsed)
        assert math.isnan(record.ptfr) or record.filler_elapsed <= record.ptfr
        assert record.perceived_latency == record.filler_elapsed
    else:
        assert math.isnan(record.filler_elapsed)
        first = record.ptfr if math.isnan(record.ttfet_preamble) else record.ttfet_preamble
        assert same(record.perceived_latency, first)
    texts = [onset for onset in record.onsets if onset.modality is Modality.TEXT]
    assert sum(onset.content is Content.ANSWER for onset in texts) == math.isfinite(record.ptfr)


def same(one: float, other: float) -> bool:
    """Equal, NaN to NaN included."""
    return one == other or (math.isnan(one) and math.isnan(other))


@contextlib.asynccontextmanager
async def open_house(
    folder: FilePath,
    embedder: Embedder,
    cloud: ScriptedCloud,
    settings: dict[str, object] | None = None,
    *,
    generator: ScriptedGenerator | None = None,
    voice: Voice | None = None,
    clock: Clock | None = None,
    knowledge: str = KNOWLEDGE,
    quick_encoder: bool = False,
    hedge: ChatClient | None = None,
) -> AsyncIterator[House]:
    """Open a house; at its end every turn is stopped and checked. By default no fillers, one attempt, no speech,
    and an encoder that works on its own thread.
    """
    defaults: dict[str, object] = {'filler.mode': 'off', 'l2.retries': 0, 'speech.enabled': voice is not None,
                                   'locale': 'en-US', 'router.mode': 'static'}

    outlet, counting, clock = Ledger(), CountingEmbedder(embedder), clock or SystemClock()
    start = with_values(Config(), defaults | (settings or {}))
    folder.mkdir(parents=True, exist_ok=True)
    knowledge_file, record_file = folder / 'knowledge.yaml', folder / 'turns.jsonl'
    knowledge_file.write_text(knowledge, encoding='utf-8')

    opened: list[House] = []

    def config() -> Config:
        return opened[0].config if opened else start

    cache = SemanticCache(dimension=embedder.dimension, capacity=100, half_life=86400.0, clock=clock)
    base = KnowledgeBase([knowledge_file], embedder, clock)
    llm = ChatClient(Endpoint(cloud.base_url, 'm'), lambda: start.l2, clock)
    llm._config = lambda: config().l2
    ledger = CostLedger(lambda: config().cost)
    levels = Levels(
        embedder=counting, cache=cache, knowledge=base,
        volatility=LEXICON, scopes=SCOPES, guards=Guards(FACTS),
        personal=PERSONAL,
        unknowing=UNKNOWING,
        router=Router(config, clock), ledger=ledger,
        fillers=FillerDesk(generator, BOOK, lambda: config().filler),
        facts=FACTS, conflicts=ConflictMeter(FACTS), judge=ConflictJudge(llm, lambda: config().filler, ledger),
        llm=HedgedChat(llm, hedge or llm, lambda: config().hedge, ledger, clock),
        prompts=PROMPTS, remarks=REMARKS,
    )
    cascade = Cascade(levels, config, clock, embed_seconds=0.001 if quick_encoder else 1.0)
    writer = RecordWriter(record_file)
    dialogue = Dialogue(cascade, levels, config, clock=clock, outlet=outlet, voice=voice, writer=writer)
    house = House(levels, cascade, dialogue, outlet, counting, cache, knowledge_file, cloud, llm, record_file, writer,
                  start, clock)
    opened.append(house)
    try:
        yield house
    finally:
        await dialogue.aclose()
        await llm.aclose()
        await asyncio.to_thread(writer.close)
        cascade.close()
    for turn in house.turns:
        check_form(outlet, turn)
    assert len(outlet.turns) == len(house.turns)
    records = list(read_turns(record_file)) if record_file.exists() else []
    written = sorted(record.turn_id for record in records)
    assert written == sorted(turn.turn_id for turn in house.turns), 'not exactly one record a turn'
