"""The vocabulary every room speaks: what comes in, what goes out, what is remembered of a turn."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import IntEnum

NAN = math.nan


class Path(IntEnum):
    """The level that answered (values of ``ResponseFrame.path``)."""

    UNKNOWN = 0
    L0 = 1
    L1 = 2
    L2 = 3
    FALLBACK = 4


class Outcome(IntEnum):
    """How a turn ended (values of ``Turn.outcome``)."""

    UNKNOWN = 0
    ANSWERED = 1
    PREEMPTED = 2
    CANCELLED = 3
    FAILED = 4
    REJECTED = 5


class FrameKind(IntEnum):
    """What a response frame carries (values of ``ResponseFrame.kind``)."""

    UNKNOWN = 0
    FILLER = 1
    ANSWER = 2


class Modality(IntEnum):
    """How the visitor perceives something (values of ``Onset.modality``)."""

    UNKNOWN = 0
    TEXT = 1
    SPEECH = 2
    GAZE = 3
    GESTURE = 4


class Content(IntEnum):
    """What an onset starts to show (values of ``Onset.content``)."""

    UNKNOWN = 0
    ACKNOWLEDGEMENT = 1
    FILLER = 2
    ANSWER = 3


class Source(IntEnum):
    """Whether an onset was commanded or observed (values of ``Onset.source``)."""

    UNKNOWN = 0
    COMMANDED = 1
    OBSERVED = 2


@dataclass(frozen=True)
class Arm:
    """Experiment switches of one turn; an empty string keeps the node's own setting."""

    label: str = ''
    router: str = ''
    filler: str = ''
    volatility: str = ''
    l0: str = ''
    l1: str = ''
    rag: str = ''
    persona: str = ''

    def is_empty(self) -> bool:
        """Whether no switch is set; the label alone changes nothing."""
        return not any((self.router, self.filler, self.volatility, self.l0, self.l1, self.rag, self.persona))


@dataclass(frozen=True)
class Utterance:
    """What a visitor said.

    ``confidence`` is the recogniser's, 0..1, 0 where unknown. ``received`` is the monotonic receipt
    time (s), t = 0 of the turn; ``since_speech_end`` is how long before it the visitor had stopped speaking (s), NaN
    where unknown.
    """

    text: str
    received: float
    utterance_id: str = ''
    conversation_id: str = 'default'
    locale: str = ''
    confidence: float = 0.0
    partial: bool = False
    alternatives: tuple[str, ...] = ()
    since_speech_end: float = NAN
    arm: Arm = Arm()


@dataclass(frozen=True)
class ResponseFrame:
    """One piece of the robot's response; ``elapsed`` is s since receipt."""

    turn_id: str
    conversation_id: str
    kind: FrameKind
    path: Path
    seq: int
    text: str
    last: bool
    elapsed: float


@dataclass(frozen=True)
class Onset:
    """The instant one modality starts to show something; ``elapsed`` is s since receipt.

    ``audible`` is when a commanded sound can be heard: ``elapsed`` plus leading silence plus the sink's latency (s
    since receipt), NaN for other modalities and where it is not known.
    """

    turn_id: str
    conversation_id: str
    modality: Modality
    content: Content
    elapsed: float
    source: Source = Source.COMMANDED
    detail: str = ''
    audible: float = NAN


@dataclass(frozen=True)
class SpeechState:
    """A turn begins to be heard (``speaking``) or is over; ``outcome`` then says how its speech ended, as
    ``TurnRecord.speech_outcome``. ``elapsed`` is s since receipt.
    """

    turn_id: str
    conversation_id: str
    speaking: bool
    outcome: str
    elapsed: float


@dataclass(frozen=True)
class ToolUse:
    """One call of a tool: in which round, how long it took (s), and what went wrong, empty if nothing did.

    ``leaked``: the model wrote the call into its answer, from where it was taken.
    """

    name: str
    round: int
    seconds: float
    error: str = ''
    leaked: bool = False


@dataclass
class TurnRecord:
    """Everything remembered of one turn (design sections 6 and 7). Times in s, NaN where it did not happen.

    ``gate`` is the law its thresholds came from, static or adaptive, ``router_reason`` why. ``filler_decision`` is why
    a filler was launched or not, ``filler_reason`` how its text came about, or why none was shown; ``filler_conflict``
    the kinds of fact on which filler and answer disagree, ``filler_verdict`` the judge's word; ``nonverbal`` what the
    body was to do meanwhile. ``arm`` is what the utterance asked for, ``switches`` what was in force. ``scope`` is the
    exact part of the cache key, empty where L0 and direct return were passed over, ``refused`` which nearer candidates
    were no hits, as "level id: what differs". ``tokens_wasted`` are those of requests ended unheard, ``restarts`` how
    often the answer was begun anew, for changed knowledge or a prompt too long. ``ttfet`` is the time to the first
    effective token of an answer by the language model, through all its tool rounds; ``ttfet_preamble`` that of the
    ``preamble``, which it said before it called a tool: the beginning of ``answer``, and no part of PTFR.
    """

    turn_id: str
    conversation_id: str
    utterance_id: str = ''
    received_wall: float = NAN
    since_speech_end: float = NAN
    text: str = ''
    locale: str = ''
    asr_confidence: float = 0.0
    path: Path = Path.UNKNOWN
    outcome: Outcome = Outcome.UNKNOWN
    reason: str = ''
    ptfr: float = NAN
    completion: float = NAN
    t_embed: float = NAN
    t_route: float = NAN
    t_retrieve: float = NAN
    t_path: float = NAN
    ttft: float = NAN
    ttfet: float = NAN
    ttfet_preamble: float = NAN
    theta_cache: float = NAN
    theta_direct: float = NAN
    load_index: float = NAN
    p_instant: float = NAN
    gate: str = ''
    router_reason: str = ''
    ttft_ewma: float = NAN
    filler_launched: bool = False
    filler_shown: bool = False
    filler_budget: float = NAN
    filler_elapsed: float = NAN
    filler_ready: float = NAN
    filler_text: str = ''
    filler_decision: str = ''
    filler_reason: str = ''
    filler_calls: int = 0
    filler_conflict: str = ''
    filler_verdict: str = ''
    nonverbal: str = ''
    volatile_query: bool = False
    volatile_reason: str = ''
    stale_reject: bool = False
    exact_repeat: bool = False
    scope: str = ''
    scope_reason: str = ''
    refused: tuple[str, ...] = ()
    cache_score: float = NAN
    cached_question: str = ''
    retrieval_score: float = NAN
    entry_ids: tuple[str, ...] = ()
    admitted: bool = False
    admission_reason: str = ''
    restarts: int = 0
    l2_attempts: int = 0
    finish_reason: str = ''
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_wasted: int = 0
    hedge: str = ''
    speculation: str = ''
    head_start: float = NAN
    tool_rounds: int = 0
    tools: tuple[ToolUse, ...] = ()
    preamble: str = ''
    breaker: str = ''
    arm: Arm = field(default_factory=Arm)
    switches: Arm = field(default_factory=Arm)
    answer: str = ''
    frames: int = 0
    speech_end: float = NAN
    speech_outcome: str = ''
    onsets: list[Onset] = field(default_factory=list)

    @property
    def has_answer(self) -> bool:
        """Whether an informative frame came; an apology is none."""
        return not math.isnan(self.ptfr)

    @property
    def effective_answer(self) -> str:
        """The answer without the preamble."""
        return self.answer[len(self.preamble):]

    @property
    def perceived_latency(self) -> float:
        """PL = min(t_f, PTFR) if a filler was shown, else PTFR (s); a preamble counts as a filler."""
        filler = self.filler_elapsed if self.filler_shown else NAN
        perceived = [each for each in (filler, self.ttfet_preamble, self.ptfr) if not math.isnan(each)]
        return min(perceived, default=NAN)
