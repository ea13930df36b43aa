"""A turn while it runs: everything the world learns of it goes through here, so that a stopped turn falls silent."""
from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from pace_ros.arms import Switches
from pace_ros.clock import Clock
from pace_ros.control import Decision
from pace_ros.embodiment import SpeechTrack, Voice
from pace_ros.embodiment.body_language import Body, BodyLanguage
from pace_ros.turn import (
    Content,
    FrameKind,
    Modality,
    Onset,
    Outcome,
    Path,
    ResponseFrame,
    SpeechState,
    TurnRecord,
    Utterance,
)


class Outlet(Body, Protocol):
    """Where a turn's events and motions go; called on the core's event loop."""

    def frame(self, frame: ResponseFrame) -> None:
        """Publish a response frame."""
        ...

    def onset(self, onset: Onset) -> None:
        """Publish an onset."""
        ...

    def turn(self, record: TurnRecord) -> None:
        """Publish the record of a turn that has just ended."""
        ...

    def speech(self, state: SpeechState) -> None:
        """Publish that a turn begins to be heard, or is over."""
        ...


class LiveTurn:
    """One utterance being answered. All times are s since receipt.

    ``on_close`` may add to the record what only its end shows, before it is published; ``catch_up`` brings what it says
    of a request under way up to date.
    """

    def __init__(
        self,
        utterance: Utterance,
        turn_id: str,
        switches: Switches,
        *,
        clock: Clock,
        outlet: Outlet,
        voice: Voice | None,
        on_close: Callable[[TurnRecord], None] = lambda _record: None,
    ) -> None:
        self.utterance = utterance
        self.switches = switches
        self.record = TurnRecord(
            turn_id=turn_id,
            conversation_id=utterance.conversation_id,
            utterance_id=utterance.utterance_id,
            text=utterance.text,
            locale=utterance.locale,
            asr_confidence=utterance.confidence,
            arm=utterance.arm,
        )
        self._clock = clock
        self._outlet = outlet
        self._voice = voice
        self._on_close = on_close
        self._speech: SpeechTrack | None = None
        self._decided = math.nan
        self.task: asyncio.Task[None] | None = None
        self.body: BodyLanguage | None = None
        self.ended = asyncio.Event()
        self.on_end: Callable[[TurnRecord], None] | None = None
        self.on_frame: Callable[[ResponseFrame], None] | None = None
        self.catch_up: Callable[[], None] = lambda: None
        self.silent = False
        self._has_spoken = False
        now = clock.monotonic()
        self.record.received_wall = clock.wall() - (now - utterance.received)
        self.record.since_speech_end = utterance.since_speech_end

    @property
    def turn_id(self) -> str:
        """The turn's id."""
        return self.record.turn_id

    @property
    def informative(self) -> bool:
        """Whether the first informative frame is out."""
        return self.record.has_answer

    def elapsed(self) -> float:
        """Seconds since receipt."""
        return self._clock.monotonic() - self.utterance.received

    def routed_by(self, decision: Decision) -> None:
        """Note what the router decided."""
        record = self.record
        record.theta_cache, record.theta_direct = decision.theta_cache, decision.theta_direct
        record.load_index, record.p_instant, record.ttft_ewma = (
            decision.load_index, decision.p_instant, decision.ttft_ewma
        )
        record.gate, record.router_reason = decision.law, decision.reason

    def embedded(self, instant: float) -> None:
        """The query vector was there at this monotonic ``instant``."""
        self.record.t_embed = instant - self.utterance.received

    def path_decided(self, path: Path) -> None:
        """The level that answers is chosen: t_route ends, t_path begins."""
        self._decided = self.elapsed()
        self.record.path = path
        if math.isnan(self.record.t_embed):
            self.record.t_embed = 0.0  # an exact repeat, or an arm without L0, L1 and passages, needs no vector
        self.record.t_route = self._decided - self.record.t_embed

    def filler(self, text: str, reason: str) -> bool:
        """Utter a filler, unless the answer has begun or the turn has ended; says whether it was uttered."""
        if self.informative or self.record.filler_shown or self.ended.is_set():
            return False
        self.record.filler_shown = True
        self.record.filler_elapsed = self.elapsed()
        self.record.filler_text, self.record.filler_reason = text, reason
        self._frame(FrameKind.FILLER, Path.UNKNOWN, text)
        self.onset(Modality.TEXT, Content.FILLER)
        if speech := self._track():
            speech.filler(text)
        return True

    def think(self, *, expected: float) -> None:
        """The model was asked and a filler launched; its first token is ``expected`` in so many s. The body may fill
        the wait, too.
        """
        if self.body is not None:
            self.record.nonverbal = self.body.think(expected=expected)

    def answer(self, text: str, *, last: bool = False) -> None:
        """Utter the next piece of the answer; the first one fixes PTFR (design section 6)."""
        if self.ended.is_set():
            return
        first = not self.informative and bool(text)
        if first:
            self.record.ptfr = self.elapsed()
            self.record.t_path = self.record.ptfr - self._decided
            self.record.ttfet = self.record.ptfr if self.record.path is Path.L2 else math.nan
        self.record.answer += text
        self._frame(FrameKind.ANSWER, self.record.path, text, last=last)
        if first:
            self.onset(Modality.TEXT, Content.ANSWER)
        self._speak(text)

    def preamble_ends(self, text: str) -> None:
        """What was said so far is no answer, as a tool is called: it counts as a filler does, and PTFR is still to
        come. ``text`` ends its sentence.
        """
        if self.ended.is_set():
            return
        self.answer(text)
        record = self.record
        if math.isnan(record.ttfet_preamble):
            record.ttfet_preamble = record.ptfr
        record.preamble = record.answer
        record.ptfr = record.t_path = record.ttfet = math.nan
        if self._speech is not None:
            self._speech.preamble_ends()
        record.onsets[:] = [
            replace(each, content=Content.FILLER) if each.content is Content.ANSWER else each for each in record.onsets
        ]

    def remark(self, text: str) -> None:
        """Say what is no answer: an apology, a request to repeat. It has no PTFR."""
        if self.ended.is_set():
            return
        if not self.informative:
            self.record.path = Path.FALLBACK
        self.record.answer += text
        self._frame(FrameKind.ANSWER, Path.FALLBACK, text)
        self._speak(text)

    def end(self, outcome: Outcome, reason: str = '') -> bool:
        """Close the turn and publish its record; only the first call counts, and says so."""
        if self.ended.is_set():
            return False
        self.record.outcome, self.record.reason = outcome, reason
        self.record.switches = self.switches.as_arm(self.utterance.arm.label)
        if math.isnan(self.record.completion) and outcome is Outcome.ANSWERED:
            self.record.completion = self.elapsed()
        if self._speech is not None:
            self._speech.finish()
        self.ended.set()
        if self.body is not None and outcome is not Outcome.ANSWERED:
            self.body.stop()
        self.catch_up()
        self._on_close(self.record)
        self._outlet.turn(replace(self.record))
        if self.on_end is not None:
            self.on_end(replace(self.record))
        return True

    def stop(self, outcome: Outcome, reason: str, *, followed: bool = False) -> None:
        """End the turn from outside: no frame, speech or gesture of it follows; ``followed`` by another turn, that one
        moves the eyes.
        """
        if self.body is not None:
            self.body.stop(look_back=not followed)
        self.end(outcome, reason)
        self.hush()
        if self.task is not None:
            self.task.cancel()

    @property
    def talking(self) -> bool:
        """Whether the turn has begun to speak and has not ended."""
        return self._has_spoken and not self.silent

    def onset(self, modality: Modality, content: Content, detail: str = '', *, audible_in: float = math.nan) -> None:
        """Note and publish a commanded onset; a sound can be heard ``audible_in`` s from now."""
        elapsed = self.elapsed()
        onset = Onset(
            self.turn_id, self.utterance.conversation_id, modality, content, elapsed, detail=detail,
            audible=elapsed + audible_in,
        )
        self.record.onsets.append(onset)
        self._outlet.onset(onset)

    def hush(self) -> None:
        """Stop the turn's speech, if any is left."""
        if self._speech is not None:
            self._speech.stop()

    async def spoken(self) -> None:
        """Wait until the turn's speech has ended or been stopped, and note how."""
        if self._speech is not None:
            self.record.speech_outcome = await self._speech.done()
            self.record.speech_end = self.elapsed()
        if self.body is not None:
            self.body.finish()
        self.silent = True
        self._tell_speech(speaking=False)

    def _speak(self, text: str) -> None:
        if self.body is not None:
            self.body.answer_begins(informative=self.informative)
        if text and (speech := self._track()):
            speech.feed(text)

    def _track(self) -> SpeechTrack | None:
        if self._speech is None and self._voice is not None:
            self._speech = self._voice.track(self.turn_id, self.utterance.locale, self._speech_onset)
        return self._speech

    def _speech_onset(self, content: Content, text: str, delay: float) -> None:
        if not self._has_spoken:
            self._has_spoken = True
            self._tell_speech(speaking=True)
        if content is Content.ANSWER and not self.informative:
            return  # an apology, a request to repeat: no answer begins
        first = all(each.modality is not Modality.SPEECH or each.content is not content for each in self.record.onsets)
        if first:
            self.onset(Modality.SPEECH, content, text, audible_in=delay)
        if content is Content.ANSWER and self.body is not None:
            self.body.sentence_begins()

    def _tell_speech(self, *, speaking: bool) -> None:
        outcome = self.record.speech_outcome
        self._outlet.speech(SpeechState(self.turn_id, self.record.conversation_id, speaking, outcome, self.elapsed()))

    def _frame(self, kind: FrameKind, path: Path, text: str, *, last: bool = False) -> None:
        frame = ResponseFrame(
            turn_id=self.turn_id,
            conversation_id=self.utterance.conversation_id,
            kind=kind,
            path=path,
            seq=self.record.frames,
            text=text,
            last=last,
            elapsed=self.elapsed(),
        )
        self.record.frames += 1
        if last:
            self.record.completion = frame.elapsed
        self._outlet.frame(frame)
        if self.on_frame is not None:
            self.on_frame(frame)
