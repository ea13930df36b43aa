"""Between ROS messages and the core's vocabulary."""
from __future__ import annotations

import math

from builtin_interfaces.msg import Time

from pace_msgs import msg
from pace_ros.clock import seconds
from pace_ros.control import ControllerState
from pace_ros.embodiment import Chunk, Level
from pace_ros.embodiment.level import HOP
from pace_ros.llm.traffic import Exchanged
from pace_ros.turn import Arm, Content, Onset, ResponseFrame, SpeechState, TurnRecord, Utterance

GATES = {'adaptive': msg.ControllerState.GATE_ADAPTIVE, 'static': msg.ControllerState.GATE_STATIC}
FROM_RECORD = (
    'turn_id', 'conversation_id', 'utterance_id', 'reason', 'ptfr', 'perceived_latency', 'completion', 't_embed',
    't_route', 't_retrieve', 't_path', 'ttft', 'ttfet', 'ttfet_preamble', 'tool_rounds', 'theta_cache', 'theta_direct',
    'load_index', 'p_instant', 'filler_launched', 'filler_shown', 'filler_budget', 'filler_elapsed', 'volatile_query',
    'stale_reject', 'cache_score', 'retrieval_score', 'answer', 'filler_decision', 'filler_conflict', 'speculation',
    'hedge', 'scope',
)
"""The fields a ``Turn`` takes from a record as they stand."""


def content_of(value: int) -> Content:
    """The content of a number in a message; one nobody knows is unknown."""
    return Content(value) if value in set(Content) else Content.UNKNOWN


def stamp_of(instant: float) -> Time:
    """A stamp of an instant in s."""
    whole, rest = divmod(round(instant * 1e9), 1_000_000_000)
    return Time(sec=whole, nanosec=rest)


def utterance_from(message: msg.Utterance, *, received: float, now: Time) -> Utterance:
    """``received`` is monotonic (s), ``now`` the ROS time of receipt; a zero stamp means no known end of speech."""
    stamp = seconds(message.header.stamp)
    arm = message.arm
    return Utterance(
        text=message.text,
        received=received,
        utterance_id=message.utterance_id,
        conversation_id=message.conversation_id,
        locale=message.locale,
        confidence=float(message.confidence),
        partial=message.partial,
        alternatives=tuple(message.alternatives),
        since_speech_end=seconds(now) - stamp if stamp else math.nan,
        arm=Arm(arm.label, arm.router, arm.filler, arm.volatility, arm.l0, arm.l1, arm.rag, arm.persona),
    )


def frame_message(frame: ResponseFrame, stamp: Time) -> msg.ResponseFrame:
    """A response frame, stamped with the instant of publication."""
    message = msg.ResponseFrame(
        turn_id=frame.turn_id,
        conversation_id=frame.conversation_id,
        kind=int(frame.kind),
        path=int(frame.path),
        seq=frame.seq,
        text=frame.text,
        last=frame.last,
        elapsed=frame.elapsed,
    )
    message.header.stamp = stamp
    return message


def onset_message(onset: Onset, stamp: Time) -> msg.Onset:
    """An onset, stamped with its instant."""
    message = msg.Onset(
        turn_id=onset.turn_id,
        conversation_id=onset.conversation_id,
        modality=int(onset.modality),
        content=int(onset.content),
        source=int(onset.source),
        elapsed=onset.elapsed,
        detail=onset.detail,
        audible=onset.audible,
    )
    message.header.stamp = stamp
    return message


def speech_message(state: SpeechState, stamp: Time) -> msg.SpeechState:
    """A turn that begins to be heard, or is over."""
    message = msg.SpeechState(
        turn_id=state.turn_id, conversation_id=state.conversation_id, speaking=state.speaking, outcome=state.outcome,
        elapsed=state.elapsed,
    )
    message.header.stamp = stamp
    return message


def turn_message(record: TurnRecord, stamp: Time) -> msg.Turn:
    """The published part of a record."""
    message = msg.Turn(
        path=int(record.path),
        outcome=int(record.outcome),
        arm=record.arm.label,
        gate=GATES.get(record.gate, msg.ControllerState.GATE_UNKNOWN),
        refused=list(record.refused),
        **{name: getattr(record, name) for name in FROM_RECORD},
    )
    message.header.stamp = stamp
    return message


def state_message(state: ControllerState, stamp: Time) -> msg.ControllerState:
    """What the controllers would do now."""
    router, decision = state.router, state.router.decision
    message = msg.ControllerState(
        load_index=decision.load_index,
        ttft_ewma=decision.ttft_ewma,
        arrival_rate=router.arrival_rate,
        theta_cache=decision.theta_cache,
        theta_direct=decision.theta_direct,
        p_instant=decision.p_instant,
        gate=GATES['static' if router.gate.static else 'adaptive'],
        quiet_windows=router.gate.quiet_windows,
        mode=state.mode,
        reason=decision.reason,
        windows=router.gate.windows,
        triggers=[
            msg.GateTrigger(name=each.name, value=each.value, p=each.p, fired=each.fired)
            for each in router.gate.triggers
        ],
        ttft_samples=router.ttft_samples,
        ttft_age=router.ttft_age,
        ttft_starved=router.starved,
        filler_launch=state.filler_launch,
        filler_decision=state.filler_decision,
        filler_budget=state.budget,
        fillers_measured=state.fillers_measured,
        conflict_rate=state.conflict_rate,
        fillers_judged=state.judged,
        contradiction_rate=state.contradiction_rate,
        tokens_per_turn=state.tokens_per_turn,
        fillers_per_turn=state.fillers_per_turn,
        hedged_share=state.hedged_share,
        probes=state.probes,
        asked_ahead=state.asked_ahead,
        used_ahead=state.used_ahead,
    )
    message.header.stamp = stamp
    return message


def audio_message(chunk: Chunk, due: Time) -> msg.AudioChunk:
    """A chunk of speech for another node's loudspeaker; its first sample is ``due`` then."""
    message = msg.AudioChunk(
        turn_id=chunk.turn_id, sample_rate=chunk.sample_rate, flush=chunk.flush, start=chunk.start,
        content=int(chunk.content),
    )
    message.samples = chunk.samples.tolist()
    message.header.stamp = due
    return message


def level_message(level: Level, first_sample: Time) -> msg.AudioLevel:
    """Loudness of hops, stamped with the instant of the first one."""
    message = msg.AudioLevel(hop=HOP, rms=level.rms.tolist())
    message.markers = [
        msg.AudioMarker(turn_id=each.turn_id, content=int(each.content), index=each.index) for each in level.markers
    ]
    message.header.stamp = first_sample
    return message


def traffic_message(exchanged: Exchanged) -> msg.L2Traffic:
    """A request to the language model with its answer, stamped with the instant of the request."""
    message = msg.L2Traffic(
        request=exchanged.request,
        status=exchanged.status,
        content_type=exchanged.content_type,
        retry_after=exchanged.retry_after,
        body=b''.join(exchanged.chunks),
        sizes=[len(chunk) for chunk in exchanged.chunks],
        times=list(exchanged.times),
        ended=exchanged.ended,
        error=exchanged.error,
        abandoned=exchanged.abandoned,
    )
    message.header.stamp = stamp_of(exchanged.begun_wall)
    return message
