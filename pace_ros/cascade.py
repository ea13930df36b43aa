"""One turn through the levels: the corridor of design section 2, from top to bottom."""
from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from pace_ros.aging import STABLE, UNKNOWN
from pace_ros.arms import Switches
from pace_ros.cache import CacheEntry, CacheMatch, Scope, Verdict, scope_of
from pace_ros.clock import Clock
from pace_ros.config import Config
from pace_ros.control import Decision
from pace_ros.conversation import Conversation
from pace_ros.filler import PendingFiller, plan
from pace_ros.hits import HitRules
from pace_ros.language import chunks
from pace_ros.levels import Levels
from pace_ros.live_turn import LiveTurn
from pace_ros.llm import Exchange, estimated_tokens
from pace_ros.lookup import NO_MATCH, Lookup
from pace_ros.query import Foreseen, Query
from pace_ros.retrieval import RetrievalHit
from pace_ros.thinking import Thinking
from pace_ros.turn import Outcome, Path, TurnRecord, Utterance

log = logging.getLogger(__name__)


class Cascade:
    """Answers by the cheapest good source. ``embed_seconds`` is what the encoding of a short question takes."""

    def __init__(
        self, levels: Levels, config: Callable[[], Config], clock: Clock, *, embed_seconds: float = 0.0
    ) -> None:
        self._levels = levels
        self._config = config
        self._clock = clock
        self._lookup = Lookup(levels, config, embed_seconds=embed_seconds)
        self._hits = HitRules(levels, config, clock)
        self._thinking = Thinking(levels, self._lookup, config, clock)
        self.asked_ahead = 0

    async def run(self, turn: LiveTurn, conversation: Conversation, foreseen: Foreseen | None = None) -> None:
        """Take one turn from utterance to last frame. ``foreseen`` was prepared before the visitor had finished."""
        router = self._levels.router
        router.observe_arrival()
        decision = router.decide(turn.switches.router)
        turn.routed_by(decision)
        query = await self._understand(turn, conversation, foreseen)
        filler = self._launch_filler(turn, conversation, decision)
        try:
            match = await self._recall(turn, query, decision)
            if match.entry is not None:
                self._replay(turn, match.entry)
            elif (direct := await self._retrieve(turn, query, decision)) is not None:
                self._return_entry(turn, direct)
            else:
                router.observe_path(instant=False)
                turn.path_decided(Path.L2)
                failure = await self._thinking.answer(turn, query, conversation, filler)
                if failure:
                    await self._fall_back(turn, query, f'l2: {failure}')
        finally:
            await self._settle(turn, query, filler)
        if turn.record.outcome is Outcome.ANSWERED:
            conversation.remember(
                turn.utterance.text, turn.record.effective_answer, asked=query.asked, entries=query.informed,
                live=query.live,
            )

    async def foresee(
        self,
        utterance: Utterance,
        switches: Switches,
        history: Sequence[Exchange],
        wanted: Callable[[], bool],
        *,
        visit: str = '',
    ) -> Foreseen:
        """Prepare the answer to a hypothesis: its vector, and if it will be L2's to answer and instant paths are rare,
        a request to the model. Nothing is counted, recalled or remembered: only what it costs. ``wanted`` says whether
        the hypothesis still stands; ``visit`` is the conversation's, which the request becomes a turn of if it is used.
        """
        levels = self._levels
        query = Query(utterance.text, utterance.locale, self._scope(utterance, history), epoch=levels.cache.epoch)
        await self._lookup.embed(query)
        verdict = self._classify(query, switches)
        foreseen = Foreseen(query.text, query.vector, verdict=verdict, epoch=query.epoch)
        await self._lookup.search(query)
        decision = levels.router.decide(switches.router)
        limits = self._config().speculation
        unlikely = decision.p_instant > limits.max_p_instant or decision.load_index > limits.max_load
        if unlikely or await self._is_instant(query, switches, decision) or levels.llm.breaker.state != 'closed':
            return foreseen
        passages = self._thinking.passages(query, rag=switches.rag)
        messages = self._thinking.messages(query, passages, self._thinking.seen(history), persona=switches.persona)
        cost = estimated_tokens(messages)
        if wanted() and levels.ledger.try_spend(tokens=cost):
            foreseen.booked, foreseen.messages, foreseen.visit = cost, tuple(messages), visit
            foreseen.request = self._thinking.ask(messages, visit, query.locale, ahead=True)
            self.asked_ahead += 1
        return foreseen

    @property
    def used_ahead(self) -> int:
        """Requests for hypotheses that a final utterance took over."""
        return self._thinking.used_ahead

    def knowledge_changed(self, entry_ids: Iterable[str], terms: Iterable[str]) -> None:
        """Answers under way that are built on any of it are restarted, if so configured; callable from any thread."""
        self._thinking.knowledge_changed(entry_ids, terms)

    def close(self) -> None:
        """End the worker thread after what it is doing."""
        self._lookup.close()

    # -- before the levels ------------------------------------------------------------------------------------------

    async def _understand(
        self, turn: LiveTurn, conversation: Conversation, foreseen: Foreseen | None
    ) -> Query:
        """What the question means in its conversation, and whether its answer ages."""
        utterance, record = turn.utterance, turn.record
        scope = self._scope(utterance, conversation.history)
        record.scope, record.scope_reason = scope.key or '', scope.reason
        query = Query(utterance.text, utterance.locale, scope, epoch=self._levels.cache.epoch, foreseen=foreseen)
        if self._levels.volatility.needs_vector:
            await self._lookup.embed(query)
            turn.embedded(self._clock.monotonic())
        verdict = self._classify(query, turn.switches)
        record.volatile_query, record.volatile_reason = verdict.volatile, verdict.reason
        return query

    def _scope(self, utterance: Utterance, history: Sequence[Exchange]) -> Scope:
        """By what the model will be reminded of: of that alone its answer can speak."""
        if not self._config().guards.scope:
            return Scope(scope_of(utterance.locale))
        return self._levels.scopes.of(utterance.text, utterance.locale, self._thinking.seen(history))

    def _classify(self, query: Query, switches: Switches) -> Verdict:
        """Volatile by the wording of the question; where the classifier fails, volatile too. It decides on the key."""
        try:
            verdict = self._levels.volatility.classify(query.text, query.locale, query.vector)
        except Exception as error:
            log.exception('the volatility classifier failed')
            verdict = Verdict(True, f'classifier failed: {error}', UNKNOWN)
        query.category = verdict.category or STABLE
        policy, _ = switches.aging.of(query.category, query.locale)
        query.key = query.scope.key if switches.l0 and policy != 'deny' else None
        return verdict

    def _launch_filler(
        self, turn: LiveTurn, conversation: Conversation, decision: Decision
    ) -> PendingFiller | None:
        """Start a filler before the path is known, if the policy wants one; an instant path cancels it.

        Under the cost ceiling it is generated, above it a canned phrase.
        """
        decided = plan(turn.switches.filler, self._config().filler, p_instant=decision.p_instant)
        turn.record.filler_decision = decided.reason
        if not decided.launch:
            return None
        turn.record.filler_launched = True
        utterance, affordable = turn.utterance, self._levels.ledger.may_spend(fillers=1)
        return self._levels.fillers.launch(
            utterance.text, utterance.locale, conversation.last_filler, refused='' if affordable else 'cost ceiling'
        )

    # -- L0 ---------------------------------------------------------------------------------------------------------

    async def _recall(self, turn: LiveTurn, query: Query, decision: Decision) -> CacheMatch:
        """Look for an earlier answer: the same words first, else embed once and search."""
        match, record, switches = NO_MATCH, turn.record, turn.switches
        if query.key is not None:
            match = self._levels.cache.recall_exact(query.text, query.key, self._hits.aged(query, switches.aging))
        if match.entry is None and (query.key is not None or switches.l1 or switches.rag):
            record.stale_reject = match.stale
            match = await self._lookup.recall(
                query, decision.theta_cache, self._hits.differs(query, switches.aging),
                lambda: turn.embedded(self._clock.monotonic()),
            )
        record.stale_reject = record.stale_reject or match.stale
        record.cache_score, record.exact_repeat = match.score, match.exact
        record.refused = tuple(f'l0 {each}' for each in match.refused)
        return match

    def _replay(self, turn: LiveTurn, entry: CacheEntry) -> None:
        turn.path_decided(Path.L0)
        turn.record.cached_question = entry.question
        turn.record.entry_ids = tuple(source.entry_id for source in entry.sources)
        self._deliver(turn, list(chunks(entry.answer, self._config().l0.chunk_chars)))

    # -- L1 ---------------------------------------------------------------------------------------------------------

    async def _retrieve(self, turn: LiveTurn, query: Query, decision: Decision) -> RetrievalHit | None:
        """Search the knowledge base; the best entry is returned if it may answer directly and is near enough."""
        if query.vector is None or not (turn.switches.l1 or turn.switches.rag):
            return None
        begin = self._clock.monotonic()
        await self._lookup.search(query)
        turn.record.t_retrieve = self._clock.monotonic() - begin
        if query.hits:
            turn.record.retrieval_score = query.hits[0].score
        return self._direct(turn, query, decision.theta_direct) if turn.switches.l1 else None

    def _direct(self, turn: LiveTurn, query: Query, threshold: float) -> RetrievalHit | None:
        """The entry that answers by itself; what kept nearer ones from it is noted."""
        direct, record = self._hits.direct(query, threshold), turn.record
        record.refused = tuple(dict.fromkeys((*record.refused, *(f'l1 {each}' for each in direct.refused))))
        if direct.hit is not None:
            record.retrieval_score = direct.score
            query.note_volatile(record, [direct.hit])
        return direct.hit

    def _return_entry(self, turn: LiveTurn, hit: RetrievalHit, path: Path = Path.L1, reason: str = '') -> None:
        turn.path_decided(path)
        turn.record.entry_ids = (hit.entry.entry_id,)
        self._deliver(turn, [hit.entry.answer(turn.utterance.locale) or ''], reason)

    def _deliver(self, turn: LiveTurn, pieces: list[str], reason: str = '') -> None:
        for number, piece in enumerate(pieces, start=1):
            turn.answer(piece, last=number == len(pieces))
        if turn.record.path is not Path.FALLBACK:  # which was decided for L2
            self._levels.router.observe_path(instant=True)
        turn.end(Outcome.ANSWERED, reason)

    # -- without L2 -------------------------------------------------------------------------------------------------

    async def _fall_back(self, turn: LiveTurn, query: Query, reason: str) -> None:
        """Never silence, never an invention: the best entry above the floor, else an apology."""
        if turn.informative:
            turn.remark(' ' + self._levels.remarks.interrupted(turn.utterance.locale))
            turn.end(Outcome.FAILED, reason)
            return
        await self._lookup.embed(query)
        if not query.hits:
            await self._lookup.search(query)
        best = self._direct(turn, query, self._config().fallback.floor)
        if best is not None:
            self._return_entry(turn, best, Path.FALLBACK, reason)
        else:
            turn.remark(self._levels.remarks.apology(turn.utterance.locale))
            turn.end(Outcome.FAILED, reason)

    # -- after the levels -------------------------------------------------------------------------------------------

    async def _settle(self, turn: LiveTurn, query: Query, filler: PendingFiller | None) -> None:
        """Cancel what was begun ahead and not needed, and book what it cost."""
        record, foreseen, ledger = turn.record, query.foreseen, self._levels.ledger
        if filler is not None:
            filler.cancel()
            record.filler_calls = int(filler.begun)
            if not record.filler_shown:
                record.filler_reason = _why_not_shown(record)
        ledger.spend(fillers=record.filler_calls)
        if foreseen is not None:
            record.speculation = record.speculation or foreseen.reason or 'dropped: not needed'
            record.tokens_wasted += await foreseen.drop(ledger)
        ledger.end_turn()

    async def _is_instant(self, query: Query, switches: Switches, decision: Decision) -> bool:
        """Whether L0 or L1 would answer by itself; a look without a trace."""
        if await self._lookup.would_recall(query, decision.theta_cache, self._hits.differs(query, switches.aging)):
            return True
        return switches.l1 and self._hits.direct(query, decision.theta_direct).hit is not None


def _why_not_shown(record: TurnRecord) -> str:
    if record.path in (Path.L0, Path.L1):
        return 'instant path'
    if record.outcome in (Outcome.PREEMPTED, Outcome.CANCELLED):
        return 'the turn was stopped'
    return 'the first token came first' if record.path is Path.L2 else 'L2 failed first'
