"""Whether a filler contradicts its answer: the meter by facts, the judge without knowing which is which."""
from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from harness import FACTS, until
from support import STALL, Script, ScriptedCloud, answer, chunk, scripted_cloud, sse

from pace_ros.clock import SystemClock
from pace_ros.config import Cost, Filler
from pace_ros.config_levels import L2
from pace_ros.control import CostLedger
from pace_ros.filler import ConflictJudge, ConflictMeter, conflict
from pace_ros.filler.conflict import AGREE, CONTRADICT, read_verdict
from pace_ros.llm import ChatClient, Endpoint, Message, estimated_tokens
from pace_ros.turn import Outcome, TurnRecord

GUARD = 8.0  # s; a test that takes longer has failed
LONG = 60.0  # s; longer than any test
SAID = {'en-US': ('Glad you ask!', 'It goes 500 km.'), 'zh-CN': ('好问题，请稍等。', '续航五百公里。')}


def turn(filler: str = 'Glad you ask!', said: str = 'It goes 500 km.', locale: str = 'en-US', *, shown: bool = True,
         ptfr: float = 1.0) -> TurnRecord:
    outcome = Outcome.FAILED if math.isnan(ptfr) else Outcome.ANSWERED
    return TurnRecord('t', 'c', locale=locale, filler_shown=shown, filler_text=filler, answer=said, ptfr=ptfr,
                      outcome=outcome)


class TestMeter:
    def test_before_any_turn_the_rate_is_nought(self) -> None:
        meter = ConflictMeter(FACTS)
        assert (meter.rate, meter.measured, meter.conflicts) == (0.0, 0, 0)

    @pytest.mark.parametrize(('filler', 'said', 'locale', 'kinds'), [
        ('Glad you ask!', 'It goes 500 km.', 'en-US', ''),
        ('It goes 400 km!', 'It goes 500 km.', 'en-US', 'length'),
        ('We are open.', 'We are closed today.', 'en-US', 'open'),
        ('The Lark, yes.', 'The Heron is the larger one.', 'en-US', 'model'),
        ('好问题，请稍等。', '续航五百公里。', 'zh-CN', ''),
        ('免费！', '这项服务收费。', 'zh-CN', 'free'),
    ])
    def test_a_turn_says_on_what_kind_of_fact_they_disagree(
        self, filler: str, said: str, locale: str, kinds: str
    ) -> None:
        meter, record = ConflictMeter(FACTS), turn(filler, said, locale)
        meter.measure(record)
        assert record.filler_conflict == FACTS.conflict(filler, said, locale)
        assert bool(record.filler_conflict) == bool(kinds)
        assert kinds in record.filler_conflict
        assert (meter.measured, meter.conflicts, meter.rate) == (1, bool(kinds), float(bool(kinds)))

    def test_the_rate_is_the_share_of_turns_that_disagree(self) -> None:
        meter = ConflictMeter(FACTS)
        for filler in ['Glad you ask!', 'It goes 400 km!', 'Oh!', 'Hm!']:
            meter.measure(turn(filler))
        assert (meter.rate, meter.conflicts, meter.measured) == (0.25, 1, 4)

    @pytest.mark.parametrize('record', [
        pytest.param(turn(shown=False), id='no-filler'),
        pytest.param(turn('It goes 400 km!', shown=False), id='launched-but-not-shown'),
        pytest.param(turn('It goes 400 km!', 'Sorry, 500 apologies.', ptfr=math.nan), id='apology'),
        pytest.param(turn('It goes 400 km!', '', ptfr=math.nan), id='silence'),
        pytest.param(TurnRecord('t', 'c'), id='nothing'),
    ])
    def test_a_turn_without_filler_or_answer_is_not_measured(self, record: TurnRecord) -> None:
        meter = ConflictMeter(FACTS)
        meter.measure(record)
        assert (record.filler_conflict, meter.measured, meter.rate) == ('', 0, 0.0)

    def test_the_judge_s_verdicts_are_counted_apart(self) -> None:
        meter = ConflictMeter(FACTS)
        for verdict in [AGREE, CONTRADICT, AGREE, 'none: unclear: hm', 'none: cost ceiling', '']:
            record = turn()
            meter.note_verdict(record, verdict)
            assert record.filler_verdict == verdict
        assert (meter.judged, meter.contradictions) == (3, 1)
        assert (meter.measured, meter.conflicts) == (0, 0)


@pytest.mark.parametrize(('reply', 'verdict'), [
    ('yes', CONTRADICT), ('Yes.', CONTRADICT), ('YES, they do', CONTRADICT), ('**Yes**', CONTRADICT),
    ('"yes"', CONTRADICT), (' \n yes\n', CONTRADICT), ('yes是', CONTRADICT),
    ('no', AGREE), ('No.', AGREE), ('NO!', AGREE), ('**No**, both fit', AGREE), ("'No'", AGREE), ('(no)', AGREE),
    ('no\n\nThe statements fit.', AGREE), ('No contradiction.', AGREE),
    ('是', CONTRADICT), ('是。', CONTRADICT), ('是的，互相矛盾', CONTRADICT), ('“是”', CONTRADICT),
    ('「是」', CONTRADICT), ('矛盾', CONTRADICT),
    ('否', AGREE), ('否。', AGREE), ('不是', AGREE), ('不是。', AGREE), ('不矛盾。', AGREE), ('**否**', AGREE),
    ('“否”', AGREE),
])
def test_a_clear_reply_is_a_verdict(reply: str, verdict: str) -> None:
    assert read_verdict(reply) == verdict


@pytest.mark.parametrize('reply', [
    '', '   ', '**', 'maybe', 'I think yes', 'They do not contradict', 'unclear', '3', '不确定', '也许', '答：是',
    # words that only begin like a verdict
    'Not sure.', 'None of them states a fact', 'Nothing certain', 'Nobody knows', 'Note that both speak of range: yes',
    'Notably they do', 'Now, yes', 'Yesterday they did', '是否矛盾难以判断',
])
def test_any_other_reply_is_unclear_and_kept_in_part(reply: str) -> None:
    verdict = read_verdict(reply)
    assert verdict.startswith('none: unclear: ')
    assert verdict not in (AGREE, CONTRADICT)


def test_what_is_kept_of_an_unclear_reply_is_short() -> None:
    assert read_verdict('Well ' * 1000) == 'none: unclear: ' + ('well ' * 8)


def prompts(filler: str, said: str, locale: str, seeds: range) -> list[list[Message]]:
    """What judges with different luck are told."""
    judges = (ConflictJudge(None, Filler, CostLedger(Cost), random.Random(seed)) for seed in seeds)  # type: ignore[arg-type]
    return [judge.messages(filler, said, locale) for judge in judges]


def told_first(messages: list[Message], statement: str) -> bool:
    return statement in messages[-1]['content'].splitlines()[0]


class TestBlinding:
    @pytest.mark.parametrize('locale', SAID)
    def test_it_is_told_both_statements_and_no_more(self, locale: str) -> None:
        filler, said = SAID[locale]
        for system, user in prompts(filler, said, locale, range(20)):
            labels = [line.replace(filler, '').replace(said, '') for line in user['content'].splitlines()]
            assert labels in (['Statement 1: ', 'Statement 2: '], ['第一句: ', '第二句: '])
            assert {filler in line for line in user['content'].splitlines()} == {True, False}
            assert system['content'] in conflict._INSTRUCTIONS.values()

    @pytest.mark.parametrize('locale', SAID)
    @pytest.mark.parametrize('giveaway', ['filler', 'answer', 'robot', 'wait', '填充', '答案', '客套', '机器人'])
    def test_nothing_in_the_prompt_tells_which_is_which(self, locale: str, giveaway: str) -> None:
        for messages in prompts(*SAID[locale], locale, range(20)):
            assert giveaway not in str(messages).lower()

    @pytest.mark.parametrize('locale', SAID)
    def test_the_order_says_nothing(self, locale: str) -> None:
        filler, said = SAID[locale]
        told = [told_first(messages, filler) for messages in prompts(filler, said, locale, range(400))]
        assert abs(sum(told) - 200) < 50  # five standard deviations

    @pytest.mark.parametrize('locale', SAID)
    def test_swapped_roles_make_the_same_prompts(self, locale: str) -> None:
        filler, said = SAID[locale]
        one, other = (prompts(*roles, locale, range(60)) for roles in [(filler, said), (said, filler)])
        assert {str(messages) for messages in one} == {str(messages) for messages in other}
        assert len({str(messages) for messages in one}) == 2

    def test_it_is_drawn_anew_each_time(self) -> None:
        filler, said = SAID['en-US']
        judge = ConflictJudge(None, Filler, CostLedger(Cost), random.Random(1))  # type: ignore[arg-type]
        told = [told_first(judge.messages(filler, said, 'en-US'), filler) for _ in range(200)]
        repeats = sum(one == other for one, other in itertools.pairwise(told))
        assert abs(sum(told) - 100) < 36
        assert abs(repeats - 100) < 36

    def test_judges_draw_differently_unless_told_how(self) -> None:
        filler, said = SAID['en-US']
        series = set()
        for _ in range(4):
            judge = ConflictJudge(None, Filler, CostLedger(Cost))  # type: ignore[arg-type]
            series.add(tuple(told_first(judge.messages(filler, said, 'en-US'), filler) for _ in range(64)))
        assert len(series) == 4

    def test_another_language_is_judged_in_english(self) -> None:
        assert 'Statement 1: ' in prompts('Bonne question !', '500 km.', 'fr-FR', range(1))[0][-1]['content']


@dataclass
class Court:
    """A judge and the server that thinks for it."""

    judge: ConflictJudge
    cloud: ScriptedCloud
    llm: ChatClient
    ledger: CostLedger

    @property
    def tokens(self) -> float:
        return self.ledger.per_turn()[0]


@contextlib.asynccontextmanager
async def court(*scripts: Script | bytes, on: bool = True, ceiling: Cost | None = None) -> AsyncIterator[Court]:
    config = L2(retries=0, first_token_timeout=LONG, inter_token_timeout=LONG, total_timeout=LONG)
    cost, settings = ceiling or Cost(), Filler(judge=on)
    async with scripted_cloud(*scripts) as cloud:
        llm, ledger = ChatClient(Endpoint(cloud.base_url, 'm'), lambda: config, SystemClock()), CostLedger(lambda: cost)
        try:
            with anyio.fail_after(GUARD):
                yield Court(ConflictJudge(llm, lambda: settings, ledger, random.Random(1)), cloud, llm, ledger)
        finally:
            with anyio.CancelScope(shield=True):
                await llm.aclose()


@pytest.mark.anyio
class TestJudge:
    @pytest.fixture(autouse=True)
    def no_certificates(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv('SSL_CERT_FILE', raising=False)
        monkeypatch.setenv('SSL_CERT_DIR', str(tmp_path))

    @pytest.mark.parametrize(('locale', 'pieces', 'verdict'), [
        ('en-US', ['Ye', 's.'], CONTRADICT), ('en-US', ['No'], AGREE), ('zh-CN', ['是', '。'], CONTRADICT),
        ('zh-CN', ['不', '是'], AGREE), ('zh-CN', ['否'], AGREE), ('en-US', ['Hm', '.'], 'none: unclear: hm.'),
    ])
    async def test_it_says_what_the_model_says(self, locale: str, pieces: list[str], verdict: str) -> None:
        async with court(answer(*pieces)) as it:
            assert await it.judge.verdict(turn(*SAID[locale], locale)) == verdict
            assert len(it.cloud.requests) == 1

    async def test_it_asks_with_the_blinded_prompt(self) -> None:
        async with court(answer('no')) as it:
            await it.judge.verdict(turn())
            sent = it.cloud.requests[0]['messages']
            assert sent in prompts(*SAID['en-US'], 'en-US', range(20))
            assert 'filler' not in str(it.cloud.requests).lower()

    async def test_a_breaker_s_only_probe_is_left_to_a_visitor(self) -> None:
        async with court(Script(status=500)) as it:
            it.judge._llm.breaker._limit = 1
            assert (await it.judge.verdict(turn())).startswith('none: HTTP 500')
            asked = len(it.cloud.requests)
            assert await it.judge.verdict(turn()) == 'none: breaker open'
            it.judge._llm.breaker._cooldown = 0.0
            assert await it.judge.verdict(turn()) == 'none: breaker half-open'
            assert len(it.cloud.requests) == asked

    async def test_off_it_asks_nobody(self) -> None:
        async with court(answer('no'), on=False) as it:
            assert await it.judge.verdict(turn()) == ''
            assert (it.cloud.requests, it.tokens) == ([], 0.0)

    @pytest.mark.parametrize('record', [turn(shown=False), turn(ptfr=math.nan)], ids=['no-filler', 'apology'])
    async def test_a_turn_that_is_not_measured_is_not_judged(self, record: TurnRecord) -> None:
        async with court(answer('no')) as it:
            assert await it.judge.verdict(record) == ''
            assert (it.cloud.requests, it.tokens) == ([], 0.0)

    async def test_the_cost_ceiling_keeps_it_silent(self) -> None:
        async with court(answer('no'), ceiling=Cost(tokens=10.0)) as it:
            assert await it.judge.verdict(turn()) == 'none: cost ceiling'
            assert (it.cloud.requests, it.tokens) == ([], 0.0)

    async def test_it_books_what_it_asks_and_what_it_is_told(self) -> None:
        async with court(answer('no')) as it:
            await it.judge.verdict(turn())
            sent = it.cloud.requests[0]['messages']
            assert isinstance(sent, list)
            assert it.tokens == estimated_tokens(sent) + 1

    @pytest.mark.parametrize(('script', 'verdict'), [
        (Script([b'no'], status=500), 'none: HTTP 500: no'),
        (answer(), 'none: unclear: '),
        (sse(chunk('yes')), 'none: the stream ended before the answer did'),
    ])
    async def test_without_an_answer_there_is_a_reason(self, script: Script | bytes, verdict: str) -> None:
        async with court(script) as it:
            assert await it.judge.verdict(turn()) == verdict

    @pytest.mark.parametrize('steps', [[STALL], [sse(chunk('y')), STALL]], ids=['silent', 'in-the-middle'])
    async def test_it_does_not_wait_for_ever(self, steps: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(conflict, 'JUDGE_DEADLINE', 0.1)
        async with court(Script(steps)) as it:
            assert await it.judge.verdict(turn()) == 'none: no verdict in time'
            await until(lambda: it.cloud.closed_early == 1)
            assert it.llm.breaker.state == 'closed'

    async def test_a_babbling_model_is_cut_off(self) -> None:
        async with court(Script([sse(*[chunk('yes and no and ')] * 20), STALL])) as it:
            assert await it.judge.verdict(turn()) == CONTRADICT
            await until(lambda: it.cloud.closed_early == 1)
