"""The dialogue: which utterances become turns, which turn gives way to which, and who cleans up after it."""
from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import replace

from pace_ros.arms import Switches, switches
from pace_ros.cascade import Cascade
from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.conversation import Conversation, Conversations
from pace_ros.embodiment import Voice
from pace_ros.embodiment.body_language import BodyLanguage
from pace_ros.language import detect_locale, is_blank, is_encodable, is_locale
from pace_ros.levels import Levels
from pace_ros.live_turn import LiveTurn, Outlet
from pace_ros.query import Foreseen
from pace_ros.record import RecordWriter
from pace_ros.settings import ConfigError
from pace_ros.speculation import Speculator
from pace_ros.turn import Arm, Outcome, ResponseFrame, TurnRecord, Utterance

log = logging.getLogger(__name__)
STOP_DEADLINE = 1.0  # s that stopped turns get to unwind
LONGEST_ID = 256


class Dialogue:
    """Owns every running turn. All methods are called on the event loop."""

    def __init__(
        self,
        cascade: Cascade,
        levels: Levels,
        config: Callable[[], Config],
        *,
        clock: Clock,
        outlet: Outlet,
        voice: Voice | None,
        writer: RecordWriter | None,
    ) -> None:
        self._cascade = cascade
        self._config = config
        self._clock = clock
        self._outlet = outlet
        self._voice = voice
        self._writer = writer
        self._levels = levels
        self._speculator = Speculator(lambda: config().speculation, levels.ledger)
        self.on_visitor: Callable[[], None] = lambda: None
        self._conversations = Conversations(lambda: config().conversation, clock, levels.llm.forget)
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns: set[LiveTurn] = set()
        self._judging: set[asyncio.Task[str]] = set()
        self._warned_of_arm = False
        self._visitor_speaks = False
        self._closing = False

    @property
    def open_conversations(self) -> int:
        """Conversations remembered."""
        return len(self._conversations)

    @property
    def running(self) -> int:
        """Turns that run or are still being spoken."""
        return len(self._turns)

    def submit(
        self,
        utterance: Utterance,
        turn_id: str = '',
        *,
        on_frame: Callable[[ResponseFrame], None] | None = None,
        on_end: Callable[[TurnRecord], None] | None = None,
    ) -> LiveTurn:
        """Make a turn of a final utterance. It ends with exactly one record, whatever happens."""
        self.on_visitor()
        spoken_id = utterance.utterance_id
        utterance, refusal = self._prepared(utterance)
        settings, bad_switch = self._switches(utterance.arm)
        turn = LiveTurn(
            utterance, turn_id or uuid.uuid4().hex, settings, clock=self._clock, outlet=self._outlet,
            voice=self._voice if self._config().speech.enabled else None, on_close=self._levels.conflicts.measure,
        )
        turn.on_frame, turn.on_end = on_frame, on_end
        foreseen = self._speculator.claim(utterance.conversation_id, spoken_id)
        turn.record.tokens_wasted = self._speculator.take_waste(utterance.conversation_id)
        if turn.record.tokens_wasted and foreseen is None:
            turn.record.speculation = 'dropped: other words'
        if refusal or bad_switch:
            turn.end(Outcome.REJECTED, refusal or bad_switch)
            self._spawn(self._finish(turn, None, foreseen), f'finish {turn.turn_id}')
            return turn
        conversation = self._conversations.of(utterance.conversation_id)
        if conversation.turn is not None:
            conversation.turn.stop(Outcome.PREEMPTED, 'the visitor spoke again', followed=True)
        conversation.turn = turn
        turn.body = BodyLanguage(
            turn.turn_id, self._outlet, self._config, conversation.body, elapsed=turn.elapsed,
            call_later=asyncio.get_running_loop().call_later, note=turn.onset,
        )
        self._turns.add(turn)
        turn.task = self._spawn(self._run(turn, conversation, foreseen), f'turn {turn.turn_id}')
        turn.task.add_done_callback(lambda _task: self._wind_up(turn, conversation, foreseen))
        return turn

    def hear_partial(self, utterance: Utterance) -> None:
        """Take an unfinished hypothesis; with ``speculation.enabled`` its answer may be prepared. It is no turn."""
        if not self._config().speculation.enabled:
            return
        self.on_visitor()
        spoken_id = utterance.utterance_id
        utterance, refusal = self._prepared(utterance)
        settings, bad_switch = self._switches(utterance.arm)
        if refusal or bad_switch:
            self._speculator.drop(utterance.conversation_id)
            return
        self._speculator.hear(
            utterance.conversation_id, spoken_id, utterance.text,
            lambda wanted: self._cascade.foresee(
                utterance, settings, self._conversations.history_of(utterance.conversation_id), wanted,
                visit=self._conversations.visit_of(utterance.conversation_id),
            ),
        )

    def stop_all(self, reason: str) -> int:
        """Silence now: cancel every running turn and stop all speech; returns how many turns there were."""
        turns = list(self._turns)
        for turn in turns:
            turn.stop(Outcome.CANCELLED, reason)
        return len(turns)

    def cancel(self, turn_id: str, reason: str) -> bool:
        """Cancel one turn; says whether it was there."""
        found = [turn for turn in self._turns if turn.turn_id == turn_id]
        for turn in found:
            turn.stop(Outcome.CANCELLED, reason)
        return bool(found)

    def voice_activity(self, *, active: bool) -> None:
        """The visitor begins or ceases to speak. Beginning over the robot's own speech is a barge-in, if configured."""
        began, self._visitor_speaks = active and not self._visitor_speaks, active
        if not began or not self._config().barge_in.on_voice:
            return
        for turn in list(self._turns):
            if turn.talking:  # also in the gap between two sentences
                turn.stop(Outcome.PREEMPTED, 'the visitor began to speak')

    def end_conversation(self, conversation_id: str) -> bool:
        """Forget a visitor; a running turn of theirs is cancelled. Says whether the conversation was known."""
        self._speculator.forget(conversation_id or 'default')
        conversation = self._conversations.end(conversation_id or 'default')
        if conversation is None:
            return False
        if conversation.turn is not None:
            conversation.turn.stop(Outcome.CANCELLED, 'the conversation was ended')
        return True

    def forget_idle(self) -> None:
        """Forget the visitors who have been silent too long, without waiting for the next one to speak."""
        self._conversations.forget_idle()

    def forget_all(self) -> None:
        """Forget every visitor: the robot goes."""
        self._conversations.forget_all()

    async def aclose(self) -> None:
        """Stop every turn and wait, briefly, until their records are handed over."""
        self._closing = True
        self.on_visitor()  # nothing optional goes on
        self.stop_all('the node is stopping')
        for judging in self._judging:
            judging.cancel()
        await self._speculator.aclose()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STOP_DEADLINE
        while self._tasks and loop.time() < deadline:  # a turn that ends spawns the task that writes its record
            await asyncio.wait(self._tasks, timeout=deadline - loop.time(), return_when=asyncio.FIRST_COMPLETED)
        for task in list(self._tasks):
            log.error('%s does not end', task.get_name())
            task.cancel()
        self._closing = False

    # -- one turn ---------------------------------------------------------------------------------------------------

    async def _run(self, turn: LiveTurn, conversation: Conversation, foreseen: Foreseen | None) -> None:
        try:
            if 0 < turn.utterance.confidence < self._config().asr.min_confidence:
                if turn.body is not None:
                    turn.body.attend()  # who is asked is looked at
                turn.remark(self._levels.remarks.repeat(turn.utterance.locale))
                confidence = f'{turn.utterance.confidence:.2f}'
                turn.end(Outcome.REJECTED, f'ASR confidence {confidence} is below asr.min_confidence')
            else:
                await self._cascade.run(turn, conversation, foreseen)
        except Exception as error:  # whatever goes wrong inside, the visitor gets a word and the operator a record
            log.exception('turn %s failed', turn.turn_id)
            turn.remark(self._levels.remarks.apology(turn.utterance.locale))
            turn.end(Outcome.FAILED, f'internal error: {type(error).__name__}: {error}')

    def _wind_up(self, turn: LiveTurn, conversation: Conversation, foreseen: Foreseen | None) -> None:
        """Called when the turn's task is over, also if it was cancelled before its first step."""
        conversation.last_used = self._clock.monotonic()
        self._spawn(self._finish(turn, conversation, foreseen), f'finish {turn.turn_id}')

    async def _finish(self, turn: LiveTurn, conversation: Conversation | None, foreseen: Foreseen | None) -> None:
        """The record is written when the turn's speech has ended or been stopped, and the judge, if any, has spoken."""
        turn.end(Outcome.CANCELLED, 'stopped')
        if turn.body is not None:
            turn.body.attend()  # still due after an answer of milliseconds: the record is about to be written
        if foreseen is not None:  # a turn that was stopped before it began
            turn.record.tokens_wasted += await foreseen.drop(self._levels.ledger)
        await turn.spoken()
        self._turns.discard(turn)
        if conversation is not None:
            conversation.last_used = self._clock.monotonic()
        try:
            await self._judge(turn)
        finally:
            if self._writer is not None:
                self._writer.write(turn.record, keep_text=self._config().record.text)

    async def _judge(self, turn: LiveTurn) -> None:
        """Ask the judge, unless the dialogue is closing."""
        if not self._config().filler.judge or self._closing:
            return
        judging = asyncio.get_running_loop().create_task(self._levels.judge.verdict(turn.record))
        self._judging.add(judging)
        await asyncio.wait([judging])
        self._judging.discard(judging)
        verdict = 'none: the node is stopping' if judging.cancelled() else judging.result()
        self._levels.conflicts.note_verdict(turn.record, verdict)

    def _spawn(self, coroutine: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- what may become a turn -------------------------------------------------------------------------------------

    def _prepared(self, utterance: Utterance) -> tuple[Utterance, str]:
        """Fill in what was left empty; the second value is why the utterance is refused, empty if it is not."""
        config = self._config()
        refusal = self._refusal(utterance)
        if not is_encodable(utterance.text):
            utterance = replace(utterance, text=utterance.text.encode('utf-8', 'replace').decode().replace('\0', ' '))
        locale = utterance.locale if is_locale(utterance.locale) else detect_locale(utterance.text, config.locale)
        utterance = replace(
            utterance,
            text=utterance.text[: config.max_utterance_chars].strip(),
            locale=locale,
            utterance_id=utterance.utterance_id or uuid.uuid4().hex,
            conversation_id=utterance.conversation_id or 'default',
        )
        if not config.allow_overrides and not utterance.arm.is_empty():
            if not self._warned_of_arm:
                log.warning('Utterance.arm is ignored: parameter allow_overrides is false (said once)')
                self._warned_of_arm = True
            utterance = replace(utterance, arm=Arm())
        return utterance, refusal

    def _refusal(self, utterance: Utterance) -> str:
        limit = self._config().max_utterance_chars
        if not is_encodable(utterance.text):
            return 'the text is not valid UTF-8'
        if is_blank(utterance.text):
            return 'the text is blank' if utterance.text else 'the text is empty'
        if len(utterance.text) > limit:
            return f'the text has {len(utterance.text)} characters, more than max_utterance_chars ({limit})'
        if not 0.0 <= utterance.confidence <= 1.0:
            return f'the confidence {utterance.confidence} is not between 0 and 1'
        if max(len(utterance.utterance_id), len(utterance.conversation_id)) > LONGEST_ID:
            return f'an id is longer than {LONGEST_ID} characters'
        if utterance.locale and not is_locale(utterance.locale):
            return f'the locale {utterance.locale[:40]!r} is no BCP 47 tag'
        return ''

    def _switches(self, arm: Arm) -> tuple[Switches, str]:
        try:
            return switches(self._config(), arm), ''
        except ConfigError as error:
            return switches(self._config(), Arm()), str(error)
