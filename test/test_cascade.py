"""One turn through the levels. The house checks every turn's frames, times, record and topic when it closes."""
from __future__ import annotations

import asyncio
import itertools
import math
import threading
from collections.abc import Callable
from pathlib import Path as FilePath

import pytest
from harness import (
    BOOK,
    COLOURS,
    COLOURS_ASKED_OTHERWISE,
    FOX,
    KNOWLEDGE,
    LIGHTHOUSE,
    MUSIC,
    PRICE,
    REMARKS,
    House,
    ScriptedGenerator,
    open_house,
    until,
)
from support import DROP, Script, answer, chunk, scripted_cloud, sse

from pace_ros.embedding import DegenerateText, Embedder
from pace_ros.filler import FillerFailed
from pace_ros.turn import Arm, Modality, Outcome, Path

RED = 'It comes in red, blue and white.'
LAMP_QUESTION, LAMP_QUESTION_AGAIN = LIGHTHOUSE, 'Please tell me a story about a lighthouse.'
STORY = answer('Once upon', ' a time', ' there was', ' a lamp.')
STORY_TEXT = 'Once upon a time there was a lamp.'
DOWN = Script(status=500)


@pytest.fixture
def folder(tmp_path: FilePath) -> FilePath:
    return tmp_path / 'house'


def gated(gate: asyncio.Event, *pieces: str) -> Script:
    """An answer whose first token comes when the gate opens."""
    return Script([gate, answer(*pieces)])


# -- the paths ---------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_known_question_is_answered_by_the_knowledge_base(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        record = await house.ask(COLOURS_ASKED_OTHERWISE)
        assert (record.path, record.outcome, record.answer) == (Path.L1, Outcome.ANSWERED, RED)
        assert record.entry_ids == ('colours',)
        assert record.retrieval_score == pytest.approx(0.832, abs=0.01)
        assert math.isfinite(record.t_retrieve)
        assert cloud.requests == []
        assert len(house.cache) == 0


@pytest.mark.anyio
async def test_a_direct_answer_needs_one_in_the_visitors_language(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        chinese = await house.ask('有哪些颜色可以选？')
        assert (chinese.path, chinese.answer) == (Path.L1, '有红色、蓝色和白色。')
        record = await house.ask('Where do I find the toilets?', locale='zh-CN')
        assert record.retrieval_score == pytest.approx(1.0, abs=1e-3)
        assert record.path is Path.L2
        assert 'coffee bar' in house.asked()[0]['content']


@pytest.mark.anyio
async def test_an_unknown_question_goes_to_the_language_model(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        record = await house.ask(LIGHTHOUSE)
        assert (record.path, record.outcome, record.answer) == (Path.L2, Outcome.ANSWERED, STORY_TEXT)
        assert [frame.text for frame in house.answers(record)] == [
            'Once upon', ' a time', ' there was', ' a lamp.', '']
        assert (record.tokens_in, record.tokens_out, record.finish_reason) == (11, 4, 'stop')
        assert 0.0 < record.ttft <= record.ptfr
        assert (record.theta_cache, record.theta_direct, record.gate) == (0.95, 0.75, 'static')
        assert house.asked()[-1] == {'role': 'user', 'content': LIGHTHOUSE}


@pytest.mark.anyio
async def test_an_answer_of_the_model_is_replayed_from_the_cache_in_chunks(
    folder: FilePath, embedder: Embedder
) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        first = await house.ask(LAMP_QUESTION)
        assert first.admitted
        assert first.admission_reason == 'stable'
        second = await house.ask(LAMP_QUESTION_AGAIN)
        assert (second.path, second.outcome, second.answer) == (Path.L0, Outcome.ANSWERED, STORY_TEXT)
        assert not second.exact_repeat
        assert second.cache_score == pytest.approx(0.975, abs=0.01)
        assert second.cached_question == LAMP_QUESTION
        assert [frame.text for frame in house.answers(second)] == ['Once upon a time there ', 'was a lamp.']
        assert len(cloud.requests) == 1


@pytest.mark.anyio
async def test_a_cached_answer_stays_in_its_language(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        await house.ask(LIGHTHOUSE, locale='en-GB')
        assert (await house.ask(LIGHTHOUSE, locale='en')).path is Path.L0
        assert (await house.ask(LIGHTHOUSE, locale='zh-CN')).path is Path.L2
        assert len(house.cache) == 2


@pytest.mark.anyio
async def test_the_cache_is_asked_before_the_knowledge_base(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, {'l1.enabled': False}) as house:
        await house.ask(COLOURS)
        house.set({'l1.enabled': True})
        assert (await house.ask(COLOURS)).path is Path.L0


# -- one embedding -----------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize('quick', [True, False])
async def test_every_path_embeds_the_question_once(folder: FilePath, embedder: Embedder, quick: bool) -> None:
    async with scripted_cloud(STORY, DOWN) as cloud, open_house(
        folder, embedder, cloud, {'router.theta_direct': 0.99}, quick_encoder=quick
    ) as house:
        paths = [(await house.ask(text)).path for text in (
            LAMP_QUESTION, LAMP_QUESTION_AGAIN, COLOURS, COLOURS_ASKED_OTHERWISE)]
        assert paths == [Path.L2, Path.L0, Path.L1, Path.FALLBACK]
        assert house.embedder.seen == [LAMP_QUESTION, LAMP_QUESTION_AGAIN, COLOURS, COLOURS_ASKED_OTHERWISE]


@pytest.mark.anyio
async def test_an_exact_repeat_needs_no_embedding(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        await house.ask(LIGHTHOUSE)
        record = await house.ask('  tell me a STORY about a  lighthouse!')
        assert (record.path, record.exact_repeat, record.cache_score) == (Path.L0, True, 1.0)
        assert record.t_embed == 0.0
        assert len(house.embedder.seen) == 1


@pytest.mark.anyio
async def test_a_question_without_direction_still_gets_an_answer(
    folder: FilePath, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted_cloud(STORY, DOWN) as cloud, open_house(folder, embedder, cloud) as house:

        def degenerate(text: str) -> None:
            raise DegenerateText(text)

        monkeypatch.setattr(house.embedder, 'embed', degenerate)
        record = await house.ask(LIGHTHOUSE)
        assert (record.path, record.outcome) == (Path.L2, Outcome.ANSWERED)
        assert (record.admitted, record.admission_reason) == (False, 'no vector')
        assert (await house.ask(LIGHTHOUSE)).outcome is Outcome.FAILED


# -- the arms' switches ------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_switch_l0(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'allow_overrides': True}
    ) as house:
        off = await house.ask(LIGHTHOUSE, arm=Arm(l0='off'))
        assert (off.path, off.admitted, off.admission_reason) == (Path.L2, False, 'l0 off')
        assert (await house.ask(LIGHTHOUSE)).admitted
        assert (await house.ask(LIGHTHOUSE, arm=Arm(l0='off'))).path is Path.L2
        assert (await house.ask(LIGHTHOUSE, arm=Arm(l0='on'))).path is Path.L0
        house.set({'l0.enabled': False})
        assert (await house.ask(LIGHTHOUSE)).path is Path.L2
        assert (await house.ask(LIGHTHOUSE, arm=Arm(l0='on'))).path is Path.L0


@pytest.mark.anyio
async def test_switch_l1(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'allow_overrides': True, 'l0.enabled': False}
    ) as house:
        assert (await house.ask(COLOURS)).path is Path.L1
        record = await house.ask(COLOURS, arm=Arm(l1='off'))
        assert record.path is Path.L2
        assert RED in house.asked()[0]['content'], 'its passages are still used'
        house.set({'l1.enabled': False})
        assert (await house.ask(COLOURS, arm=Arm(l1='on'))).path is Path.L1


@pytest.mark.anyio
async def test_switch_rag(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'allow_overrides': True, 'l0.enabled': False, 'router.theta_direct': 0.99}
    ) as house:
        on = await house.ask(COLOURS_ASKED_OTHERWISE)
        assert on.entry_ids[0] == 'colours'
        assert RED in house.asked()[0]['content']
        off = await house.ask(COLOURS_ASKED_OTHERWISE, arm=Arm(rag='off'))
        assert off.entry_ids == ()
        assert RED not in house.asked()[0]['content']
        assert 'Showroom notes' not in house.asked()[0]['content']


@pytest.mark.anyio
async def test_switch_persona(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'allow_overrides': True, 'l0.enabled': False}
    ) as house:
        await house.ask(LIGHTHOUSE)
        assert 'greeter robot' in house.asked()[0]['content']
        await house.ask(LIGHTHOUSE, arm=Arm(persona='off'))
        assert house.asked()[0]['content'] == 'Answer in one to three short spoken sentences.'


@pytest.mark.anyio
async def test_switch_filler(folder: FilePath, embedder: Embedder) -> None:
    generator, gates = ScriptedGenerator('Good question!'), [asyncio.Event(), asyncio.Event()]
    async with scripted_cloud(*(gated(gate, 'Yes.') for gate in gates)) as cloud, open_house(
        folder, embedder, cloud, {'allow_overrides': True, 'l0.enabled': False}, generator=generator
    ) as house:
        turn = house.submit(LIGHTHOUSE, arm=Arm(filler='fixed'))
        await until(lambda: house.fillers(turn))
        gates[0].set()
        await house.settled(turn)
        house.set({'filler.mode': 'fixed'})
        turn = house.submit(LIGHTHOUSE, arm=Arm(filler='off'))
        await until(lambda: len(cloud.requests) == 2)
        gates[1].set()
        await house.settled(turn)
        assert not turn.record.filler_launched
        assert turn.record.filler_decision == 'off'
        assert len(generator.jobs) == 1


@pytest.mark.anyio
async def test_switch_volatility(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'allow_overrides': True, 'volatility.policy': 'off'}
    ) as house:
        assert not (await house.ask(PRICE, arm=Arm(volatility='deny'))).admitted
        assert (await house.ask(PRICE, arm=Arm(volatility='ttl'))).admission_reason == 'price: ttl 3600 s'
        house.cache.clear()
        assert (await house.ask(PRICE)).admission_reason == 'price: off'


@pytest.mark.anyio
async def test_pure_llm_neither_embeds_nor_searches(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'allow_overrides': True}
    ) as house:
        arm = Arm(label='Pure LLM', router='static', filler='off', volatility='off', l0='off', l1='off', rag='off',
                  persona='off')
        record = await house.ask(COLOURS, arm=arm)
        assert record.path is Path.L2
        assert record.arm.label == 'Pure LLM'
        assert house.embedder.seen == []
        assert math.isnan(record.t_retrieve)
        assert [message['role'] for message in house.asked()] == ['system', 'user']


# -- fillers -----------------------------------------------------------------------------------------------------------

FILLING: dict[str, object] = {'filler.mode': 'fixed', 'filler.budget': 10.0}


@pytest.mark.anyio
async def test_a_filler_that_is_ready_before_the_first_token_is_shown(folder: FilePath, embedder: Embedder) -> None:
    generator, gate = ScriptedGenerator('Good question!'), asyncio.Event()
    async with scripted_cloud(gated(gate, 'Yes.')) as cloud, open_house(
        folder, embedder, cloud, FILLING, generator=generator
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: house.fillers(turn))
        assert not house.answers(turn)
        gate.set()
        await house.settled(turn)
        record = turn.record
        assert [frame.text for frame in house.outlet.of(turn.turn_id)] == ['Good question!', 'Yes.', '']
        assert (record.filler_text, record.filler_reason) == ('Good question!', 'generated')
        assert record.filler_launched
        assert record.filler_calls == 1
        assert record.perceived_latency == record.filler_elapsed < record.ptfr
        assert record.filler_ready <= record.filler_elapsed
        assert [(job.question, job.locale) for job in generator.jobs] == [(LIGHTHOUSE, 'en-US')]


@pytest.mark.anyio
async def test_a_late_filler_is_replaced_by_a_placeholder_when_the_budget_is_spent(
    folder: FilePath, embedder: Embedder
) -> None:
    generator, gate = ScriptedGenerator(None), asyncio.Event()
    async with scripted_cloud(gated(gate, 'Yes.')) as cloud, open_house(
        folder, embedder, cloud, {'filler.mode': 'fixed', 'filler.budget': 0.1}, generator=generator
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: house.fillers(turn))
        gate.set()
        await house.settled(turn)
        record = turn.record
        assert record.filler_text in BOOK.of('en').placeholders
        assert record.filler_reason == 'placeholder: budget spent'
        decided = record.t_embed + record.t_route
        assert record.filler_elapsed - decided >= 0.1 - 1e-3
        assert record.filler_elapsed - decided < 2.0
        assert record.filler_budget == 0.1
        assert math.isnan(record.filler_ready)
        assert generator.jobs[0].cancelled


@pytest.mark.anyio
async def test_a_first_token_before_the_filler_leaves_no_filler(folder: FilePath, embedder: Embedder) -> None:
    generator = ScriptedGenerator(None)
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, FILLING, generator=generator
    ) as house:
        record = await house.ask(LIGHTHOUSE)
        assert record.filler_launched
        assert not record.filler_shown
        assert generator.jobs[0].cancelled
        generator.jobs[0].text.set_result('Good question!')
        await asyncio.sleep(0)
        assert record.perceived_latency == record.ptfr


@pytest.mark.anyio
@pytest.mark.parametrize(
    ('outcome', 'reason'),
    [
        (FillerFailed('the model is ill'), 'placeholder: the model is ill'),
        ('It costs 5 yuan.', 'placeholder: rejected: has a digit'),
        ('Let me check that.', 'placeholder: rejected: announces a search'),
        ('A question as long as this deserves a break.', 'placeholder: rejected: longer than 30'),
        ('', 'placeholder: rejected: empty'),
    ],
)
async def test_a_failed_or_rejected_filler_is_replaced_at_once(
    folder: FilePath, embedder: Embedder, outcome: str | FillerFailed, reason: str
) -> None:
    gate = asyncio.Event()
    async with scripted_cloud(gated(gate, 'Yes.')) as cloud, open_house(
        folder, embedder, cloud, FILLING, generator=ScriptedGenerator(outcome)
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: house.fillers(turn))
        gate.set()
        await house.settled(turn)
        assert turn.record.filler_text in BOOK.of('en').placeholders
        assert turn.record.filler_reason.startswith(reason)
        assert turn.record.filler_elapsed < 5.0


@pytest.mark.anyio
@pytest.mark.parametrize('busy', [True, False])
async def test_without_a_free_generator_a_placeholder_comes_at_once(
    folder: FilePath, embedder: Embedder, busy: bool
) -> None:
    gate, generator = asyncio.Event(), ScriptedGenerator()
    generator.busy = busy
    async with scripted_cloud(gated(gate, '好。')) as cloud, open_house(
        folder, embedder, cloud, FILLING, generator=generator if busy else None
    ) as house:
        turn = house.submit('给我讲个灯塔的故事。')
        await until(lambda: house.fillers(turn))
        gate.set()
        await house.settled(turn)
        assert turn.record.filler_text in BOOK.of('zh').placeholders
        assert turn.record.filler_reason == f'placeholder: {"generator busy" if busy else "no generator"}'
        assert turn.record.filler_calls == 0


@pytest.mark.anyio
@pytest.mark.parametrize('quick', [True, False])
async def test_an_instant_path_cancels_the_filler(folder: FilePath, embedder: Embedder, quick: bool) -> None:
    generator = ScriptedGenerator(None)
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, FILLING, generator=generator, quick_encoder=quick
    ) as house:
        house.set({'filler.mode': 'off'})
        await house.ask(LIGHTHOUSE)
        house.set({'filler.mode': 'fixed'})
        for text, path in ((COLOURS, Path.L1), (LIGHTHOUSE, Path.L0)):
            record = await house.ask(text)
            assert (record.path, record.filler_launched, record.filler_shown) == (path, True, False)
            assert record.filler_calls == len(generator.jobs)  # none, unless the machine was slow
            assert all(job.cancelled for job in generator.jobs)
            generator.jobs.clear()


@pytest.mark.anyio
async def test_a_filler_launched_for_a_broken_turn_is_cancelled(
    folder: FilePath, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = ScriptedGenerator(None)
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, FILLING, generator=generator
    ) as house:
        monkeypatch.setattr('pace_ros.filler.fillers.GRACE', 0.0)
        monkeypatch.setattr(house.levels.knowledge, 'search', failing)
        assert (await house.ask(LIGHTHOUSE)).outcome is Outcome.FAILED
        assert generator.jobs[0].cancelled


@pytest.mark.anyio
@pytest.mark.parametrize('generated', [False, True])
async def test_no_filler_comes_twice_running_in_a_conversation(
    folder: FilePath, embedder: Embedder, generated: bool
) -> None:
    generator = ScriptedGenerator('Good question!') if generated else None
    gates = [asyncio.Event() for _ in range(7)]
    async with scripted_cloud(*(gated(gate, 'Yes.') for gate in gates)) as cloud, open_house(
        folder, embedder, cloud, {**FILLING, 'l0.enabled': False}, generator=generator
    ) as house:
        fillers = []
        for number, gate in enumerate(gates):
            turn = house.submit(LIGHTHOUSE, arm=Arm(label=f'turn {number}'))
            await until(lambda turn=turn: house.fillers(turn))
            gate.set()
            await house.settled(turn)
            fillers.append(turn.record.filler_text)
        assert all(one != other for one, other in itertools.pairwise(fillers))
        if generator is not None:
            assert fillers[0] == 'Good question!'
            assert [job.avoid for job in generator.jobs] == ['', *fillers[:-1]]


@pytest.mark.anyio
async def test_a_filler_enters_neither_history_nor_cache(folder: FilePath, embedder: Embedder) -> None:
    gate = asyncio.Event()
    async with scripted_cloud(gated(gate, 'A lamp.'), answer('A fox.')) as cloud, open_house(
        folder, embedder, cloud, FILLING, generator=ScriptedGenerator('Good question!', None)
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: house.fillers(turn))
        gate.set()
        await house.settled(turn)
        assert [row.entry.answer for row in house.cache.entries()] == ['A lamp.']
        await house.ask(FOX)
        assert house.asked()[1:] == [
            {'role': 'user', 'content': LIGHTHOUSE},
            {'role': 'assistant', 'content': 'A lamp.'},
            {'role': 'user', 'content': FOX},
        ]
        assert (await house.ask(LIGHTHOUSE)).answer == 'A lamp.'


@pytest.mark.anyio
async def test_a_filler_shown_before_a_failure_counts_as_perceived(folder: FilePath, embedder: Embedder) -> None:
    gate = asyncio.Event()
    async with scripted_cloud(Script([gate, DROP])) as cloud, open_house(
        folder, embedder, cloud, FILLING, generator=ScriptedGenerator('Good question!')
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: house.fillers(turn))
        gate.set()
        await house.settled(turn)
        assert turn.record.outcome is Outcome.FAILED
        assert [frame.text for frame in house.outlet.of(turn.turn_id)] == ['Good question!', REMARKS.apology('en')]
        assert math.isnan(turn.record.ptfr)
        assert turn.record.perceived_latency == turn.record.filler_elapsed


# -- what may be cached ------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize(
    'script',
    [
        Script([answer('Half', ' an answer', finish='length')]),
        Script([answer('Half', ' an answer', finish='content_filter')]),
        Script([sse(chunk('Half')), DROP]),
        Script([sse(chunk('Half'), {'error': {'message': 'overload'}})]),
        Script([sse(chunk('Half'), '[DONE]')]),
        Script([answer('  ')]),
        DOWN,
    ],
    ids=['length', 'content filter', 'drop', 'error', 'no finish reason', 'blank', 'down'],
)
async def test_what_is_cut_or_failed_is_never_cached(folder: FilePath, embedder: Embedder, script: Script) -> None:
    async with scripted_cloud(script, STORY) as cloud, open_house(folder, embedder, cloud) as house:
        record = await house.ask(LIGHTHOUSE)
        assert not record.admitted
        assert len(house.cache) == 0
        assert (await house.ask(LIGHTHOUSE)).path is Path.L2


@pytest.mark.anyio
async def test_a_cut_answer_is_delivered_all_the_same(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(answer('Half', ' an answer', finish='length')) as cloud, open_house(
        folder, embedder, cloud
    ) as house:
        record = await house.ask(LIGHTHOUSE)
        assert (record.outcome, record.answer) == (Outcome.ANSWERED, 'Half an answer')
        assert record.admission_reason == 'unsound: finish length, breaker closed'


@pytest.mark.anyio
async def test_an_answer_is_not_cached_if_the_breaker_opened_meanwhile(folder: FilePath, embedder: Embedder) -> None:
    gate = asyncio.Event()
    async with scripted_cloud(Script([sse(chunk('A lamp.')), gate, answer('!')]), DOWN) as cloud, open_house(
        folder, embedder, cloud, {'l2.breaker_failures': 1}
    ) as house:
        slow = house.submit(LIGHTHOUSE, 'a')
        await until(lambda: house.answers(slow))
        assert (await house.ask(FOX, 'b')).outcome is Outcome.FAILED
        assert house.llm.breaker.state == 'open'
        gate.set()
        await house.settled(slow)
        assert (slow.record.outcome, slow.record.answer) == (Outcome.ANSWERED, 'A lamp.!')
        assert slow.record.admission_reason == 'unsound: finish stop, breaker open'
        assert len(house.cache) == 0


@pytest.mark.anyio
async def test_an_open_breaker_asks_nobody_and_its_probe_is_not_cached(folder: FilePath, embedder: Embedder) -> None:
    settings: dict[str, object] = {'l2.breaker_failures': 1, 'l2.breaker_cooldown': 0.3}
    async with scripted_cloud(DOWN, STORY) as cloud, open_house(folder, embedder, cloud, settings) as house:
        await house.ask(LIGHTHOUSE)
        if house.llm.breaker.state == 'open':  # else the machine slept through the cooldown
            record = await house.ask(LIGHTHOUSE)
            assert record.outcome is Outcome.FAILED
            assert record.reason.startswith('l2: breaker open')
            assert record.l2_attempts == 0
            assert len(cloud.requests) == 1
        await until(lambda: house.llm.breaker.state == 'half-open')
        probe = await house.ask(LIGHTHOUSE)
        assert (probe.outcome, probe.admitted, probe.breaker) == (Outcome.ANSWERED, False, 'closed')
        assert (await house.ask(LIGHTHOUSE)).admitted


@pytest.mark.anyio
async def test_volatile_answers_under_deny(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        record = await house.ask(PRICE)
        assert record.volatile_query
        assert record.volatile_reason.startswith('lexicon line ')
        assert (record.admitted, record.admission_reason) == (False, 'price: deny')
        assert len(house.cache) == 0


@pytest.mark.anyio
async def test_volatile_answers_under_ttl(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'volatility.policy': 'ttl', 'volatility.ttl': 60.0}
    ) as house:
        await house.ask(PRICE)
        await house.ask(LIGHTHOUSE)
        entries = {row.entry.question: row.entry for row in house.cache.entries()}
        assert entries[PRICE].expires == entries[PRICE].written + 60.0
        assert entries[LIGHTHOUSE].expires is None
        assert (await house.ask(PRICE)).path is Path.L0


@pytest.mark.anyio
@pytest.mark.parametrize('question', [PRICE, PRICE.replace('a sandwich', 'the sandwich')], ids=['exact', 'similar'])
async def test_an_expired_answer_is_a_stale_reject(
    folder: FilePath, embedder: Embedder, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'volatility.policy': 'ttl', 'volatility.ttl': 60.0, 'router.theta_cache': 0.8}
    ) as house:
        await house.ask(PRICE)
        wall = house.clock.wall
        monkeypatch.setattr(house.clock, 'wall', lambda: wall() + 61.0)
        record = await house.ask(question)
        assert record.stale_reject
        assert record.path is Path.L2


@pytest.mark.anyio
async def test_volatile_answers_with_volatility_off(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'volatility.policy': 'off'}
    ) as house:
        assert (await house.ask(PRICE)).admission_reason == 'price: off'
        (row,) = house.cache.entries()
        assert row.entry.expires is None


@pytest.mark.anyio
async def test_an_answer_built_on_volatile_knowledge_is_volatile(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'router.theta_direct': 0.99}
    ) as house:
        record = await house.ask('Is there a tow hook fitted?')
        assert (record.path, record.volatile_query, record.admitted) == (Path.L2, True, False)
        assert record.volatile_reason == 'knowledge: hook'


@pytest.mark.anyio
async def test_one_volatile_passage_of_several_makes_the_answer_volatile(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'router.theta_direct': 0.99, 'l1.passage_floor': 0.0}
    ) as house:
        record = await house.ask('Which colours are there for the car?')
        assert record.entry_ids[0] == 'colours'
        assert 'hook' in record.entry_ids
        assert (record.volatile_query, record.admitted) == (True, False)


@pytest.mark.anyio
@pytest.mark.parametrize(('policy', 'path'), [('deny', Path.L2), ('ttl', Path.L0)])
async def test_a_volatile_question_gets_no_stable_answer_from_the_cache_under_deny(
    folder: FilePath, embedder: Embedder, policy: str, path: Path
) -> None:
    stable, volatile = 'Which cars can I see here?', 'Which cars can I see here now?'
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'volatility.policy': policy, 'router.theta_cache': 0.8, 'l2.rag': False}
    ) as house:
        assert (await house.ask(stable)).admitted
        record = await house.ask(volatile)
        assert record.volatile_query
        assert record.path is path
        assert (await house.ask(stable)).path is Path.L0


@pytest.mark.anyio
async def test_knowledge_changed_between_search_and_generation(
    folder: FilePath, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        search = house.levels.knowledge.search

        def search_then_invalidate(*arguments: object) -> object:
            hits = search(*arguments)  # type: ignore[arg-type]
            house.cache.invalidate(terms=['lighthouse'])  # it ends while the loop has not seen the hits yet
            return hits

        monkeypatch.setattr(house.levels.knowledge, 'search', search_then_invalidate)
        record = await house.ask(LIGHTHOUSE)
        assert record.outcome is Outcome.ANSWERED
        assert not record.admitted, 'it was built on the old knowledge'


@pytest.mark.anyio
async def test_the_cached_entry_knows_its_sources(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'router.theta_direct': 0.99}
    ) as house:
        await house.ask(COLOURS_ASKED_OTHERWISE)
        (row,) = house.cache.entries()
        assert [source.entry_id for source in row.entry.sources] == ['colours']
        assert row.entry.sources[0].version == house.levels.knowledge.versions()['colours']
        assert house.cache.invalidate(sources=['colours']) == 1


# -- without the language model ----------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize('rag', [True, False])
async def test_with_l2_down_the_best_entry_above_the_floor_is_said(
    folder: FilePath, embedder: Embedder, rag: bool
) -> None:
    settings: dict[str, object] = {'router.theta_direct': 0.99, 'l2.rag': rag, 'l0.enabled': rag, 'l1.enabled': rag}
    async with scripted_cloud(DOWN) as cloud, open_house(folder, embedder, cloud, settings) as house:
        record = await house.ask(COLOURS_ASKED_OTHERWISE)
        assert (record.path, record.outcome, record.answer) == (Path.FALLBACK, Outcome.ANSWERED, RED)
        assert record.reason.startswith('l2: HTTP 500')
        assert record.entry_ids == ('colours',)
        assert not record.admitted
        assert len(house.cache) == 0


@pytest.mark.anyio
@pytest.mark.parametrize(('question', 'locale'), [(LIGHTHOUSE, 'en-US'), ('给我讲个灯塔的故事。', 'zh-CN')])
async def test_with_l2_down_and_nothing_known_the_robot_apologises(
    folder: FilePath, embedder: Embedder, question: str, locale: str
) -> None:
    async with scripted_cloud(DOWN) as cloud, open_house(folder, embedder, cloud) as house:
        record = await house.ask(question)
        assert (record.path, record.outcome) == (Path.FALLBACK, Outcome.FAILED)
        assert record.answer == REMARKS.apology(locale)
        assert [frame.text for frame in house.answers(record)] == [record.answer]
        assert math.isnan(record.ptfr)
        assert math.isnan(record.perceived_latency)


@pytest.mark.anyio
async def test_an_entry_below_the_floor_is_not_said(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(DOWN) as cloud, open_house(
        folder, embedder, cloud, {'router.theta_direct': 0.99, 'fallback.floor': 0.9}
    ) as house:
        assert (await house.ask(COLOURS_ASKED_OTHERWISE)).answer == REMARKS.apology('en')


@pytest.mark.anyio
async def test_with_nobody_listening_at_the_endpoint_the_robot_still_speaks(
    folder: FilePath, embedder: Embedder
) -> None:
    async with scripted_cloud(STORY) as cloud:
        cloud.base_url = 'http://127.0.0.1:9/v1'
        async with open_house(folder, embedder, cloud) as house:
            assert (await house.ask(LIGHTHOUSE)).answer == REMARKS.apology('en')
            assert (await house.ask(COLOURS)).path is Path.L1


@pytest.mark.anyio
async def test_a_silent_model_meets_its_deadline(folder: FilePath, embedder: Embedder) -> None:
    gate = asyncio.Event()
    async with scripted_cloud(gated(gate, 'Yes.')) as cloud, open_house(
        folder, embedder, cloud, {'l2.first_token_timeout': 0.1}
    ) as house:
        record = await house.ask(LIGHTHOUSE)
        assert (record.outcome, record.reason) == (Outcome.FAILED, 'l2: no first token in time')
        await until(lambda: cloud.closed_early == 1)


@pytest.mark.anyio
async def test_an_answer_that_breaks_off_is_said_to_have_broken_off(folder: FilePath, embedder: Embedder) -> None:
    broken = Script([sse(chunk('Once upon'), chunk(' a time')), DROP])
    async with scripted_cloud(broken, STORY) as cloud, open_house(folder, embedder, cloud, {'l2.retries': 3}) as house:
        record = await house.ask(LIGHTHOUSE)
        assert (record.path, record.outcome) == (Path.L2, Outcome.FAILED)
        assert record.reason.startswith('l2: ')
        assert [frame.text for frame in house.answers(record)] == [
            'Once upon', ' a time', ' ' + REMARKS.interrupted('en')]
        assert record.answer.count('Once upon') == 1
        assert math.isfinite(record.ptfr)
        assert math.isnan(record.completion)
        assert len(cloud.requests) == 1, 'no retry after the first token'
        await house.ask(FOX)
        assert len(house.asked()) == 2, 'a broken answer is no history'


@pytest.mark.anyio
async def test_a_failure_before_the_first_token_is_tried_again(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(DOWN, STORY) as cloud, open_house(folder, embedder, cloud, {'l2.retries': 1}) as house:
        record = await house.ask(LIGHTHOUSE)
        assert (record.outcome, record.answer, record.l2_attempts) == (Outcome.ANSWERED, STORY_TEXT, 2)


# -- what goes wrong inside --------------------------------------------------------------------------------------------


def failing(*_arguments: object, **_named: object) -> object:
    raise RuntimeError('a wire is loose')


WIRES: dict[str, Callable[[House], object]] = {
    'embed': lambda house: house.embedder,
    'recall_exact': lambda house: house.cache,
    'recall': lambda house: house.cache,
    'search': lambda house: house.levels.knowledge,
    'decide': lambda house: house.levels.router,
    'messages': lambda house: house.levels.prompts,
    'stream': lambda house: house.llm,
    'launch': lambda house: house.levels.fillers,
}


@pytest.mark.anyio
@pytest.mark.parametrize('name', WIRES)
@pytest.mark.parametrize('quick', [True, False])
async def test_an_exception_inside_a_level_ends_in_an_apology(
    folder: FilePath, embedder: Embedder, monkeypatch: pytest.MonkeyPatch, name: str, quick: bool
) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'filler.mode': 'fixed'}, quick_encoder=quick
    ) as house:
        with monkeypatch.context() as patch:
            patch.setattr(WIRES[name](house), name, failing)
            record = await house.ask(LIGHTHOUSE)
        assert record.outcome is Outcome.FAILED
        assert record.reason == 'internal error: RuntimeError: a wire is loose'
        assert record.answer == REMARKS.apology('en')
        assert math.isnan(record.ptfr)
        assert (await house.ask(LIGHTHOUSE)).outcome is Outcome.ANSWERED, 'the next turn is not affected'


@pytest.mark.anyio
async def test_a_question_whose_classifier_fails_counts_as_volatile(
    folder: FilePath, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        monkeypatch.setattr(house.levels.volatility, 'classify', failing)
        for _ in range(2):
            record = await house.ask(LIGHTHOUSE)
            assert (record.outcome, record.path, record.volatile_query) == (Outcome.ANSWERED, Path.L2, True)
            assert record.volatile_reason == 'classifier failed: a wire is loose'


@pytest.mark.anyio
async def test_an_exception_while_caching_does_not_spoil_an_answer_already_given(
    folder: FilePath, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        monkeypatch.setattr(house.cache, 'admit', failing)
        record = await house.ask(LIGHTHOUSE)
        assert record.answer == STORY_TEXT
        assert record.outcome is Outcome.ANSWERED


@pytest.mark.anyio
async def test_the_record_holds_the_commanded_onsets_of_attention(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        for text in (LIGHTHOUSE, LIGHTHOUSE, COLOURS):
            await house.ask(text)
        await until(lambda: len(house.outlet.looks) == len(house.outlet.gestures) == 3)
        for record in await house.written():
            assert {Modality.GAZE, Modality.GESTURE} <= {onset.modality for onset in record.onsets}, record.path.name


@pytest.mark.anyio
async def test_a_knowledge_reload_reaches_the_next_turn(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        assert (await house.ask(COLOURS)).answer == RED
        house.knowledge_file.write_text(KNOWLEDGE.replace(RED, 'It comes in green.'), encoding='utf-8')
        house.levels.knowledge.reload()  # type: ignore[attr-defined]
        assert (await house.ask(COLOURS)).answer == 'It comes in green.'


@pytest.mark.anyio
async def test_the_levels_never_block_the_event_loop(folder: FilePath, embedder: Embedder) -> None:
    """A slow encoder holds up its own turn, not another conversation's exact repeat."""
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        await house.ask(LIGHTHOUSE)
        release, embed = threading.Event(), house.embedder.embed
        house.embedder.embed = lambda text: release.wait(20.0) and embed(text)  # type: ignore[method-assign]
        slow = house.submit(MUSIC, 'slow')
        assert (await house.ask(LIGHTHOUSE, 'quick')).path is Path.L0
        assert not slow.ended.is_set()
        release.set()
        await house.settled(slow)
