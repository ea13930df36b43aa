"""The controllers inside a dialogue: what load does to a turn, by node and by turn, and what the record says."""
from __future__ import annotations

import asyncio
import math
from pathlib import Path as FilePath

import pytest
from harness import COLOURS, FOX, LIGHTHOUSE, MUSIC, PRICE, House, ScriptedGenerator, open_house, until
from support import STALL, Script, answer, chunk, scripted_cloud, sse

from pace_ros.clock import VirtualClock
from pace_ros.config import Config
from pace_ros.embedding import Embedder
from pace_ros.filler import ConflictMeter
from pace_ros.llm import ChatClient, Endpoint
from pace_ros.turn import Arm, Outcome, Path

STORY = answer('Once upon', ' a time.')
FREE: dict[str, object] = {'allow_overrides': True}
ROUTERS = ('static', 'adaptive', 'gated')


@pytest.fixture
def folder(tmp_path: FilePath) -> FilePath:
    return tmp_path / 'house'


def pass_windows(house: House, count: int) -> None:
    """Let quiet minutes go by."""
    assert isinstance(house.clock, VirtualClock)
    house.clock.advance(60.0 * count)


@pytest.mark.anyio
@pytest.mark.parametrize('mode', ROUTERS)
async def test_the_same_code_path_serves_every_router_mode_per_node_and_per_turn(
    folder: FilePath, embedder: Embedder, mode: str
) -> None:
    """An adaptive turn of a static node is what a turn of an adaptive node is, and so on."""
    records = []
    for settings, arm in (({'router.mode': mode}, Arm()), ({'router.mode': 'static'}, Arm(router=mode))):
        async with scripted_cloud(STORY) as cloud, open_house(
            folder / str(len(records)), embedder, cloud, FREE | settings, clock=VirtualClock()
        ) as house:
            records.append(await house.ask(LIGHTHOUSE, arm=arm))
    own, other = records
    load = 0.7 * (1.5 - 1.0) / 3.0 + 0.3 * (1 / 60) / 8.0  # x0, one arrival
    expected = (0.95, 0.75) if mode == 'static' else (0.98 - 0.08 * load, 0.85 - 0.15 * load)
    for record in (own, other):
        assert (record.theta_cache, record.theta_direct) == pytest.approx(expected)
        assert record.load_index == pytest.approx(load)
        assert record.p_instant == pytest.approx(0.3)
        assert record.gate == ('static' if mode == 'static' else 'adaptive')
        assert record.switches.router == mode
    assert own.router_reason == other.router_reason == {'gated': 'gate: cold start'}.get(mode, mode)


@pytest.mark.anyio
async def test_a_quiet_floor_pins_the_thresholds_and_a_rush_frees_them(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'router.mode': 'gated'}, clock=VirtualClock()
    ) as house:
        assert (await house.ask(COLOURS)).gate == 'adaptive'
        pass_windows(house, 12)
        pinned = await house.ask(COLOURS)
        assert (pinned.gate, pinned.theta_cache, pinned.theta_direct) == ('static', 0.95, 0.75)
        assert 'quiet windows' in pinned.router_reason
        for number in range(40):
            await house.ask(COLOURS, conversation=f'c{number}')
        pass_windows(house, 1)
        freed = await house.ask(COLOURS)
        assert freed.gate == 'adaptive'
        assert 'rate ratio' in freed.router_reason


@pytest.mark.anyio
async def test_load_decides_whether_the_knowledge_base_is_near_enough(folder: FilePath, embedder: Embedder) -> None:
    """The same question, at 0.832: below the direct threshold of an idle cloud, above that of a slow one."""
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'router.mode': 'adaptive', 'l0.enabled': False}
    ) as house:
        house.levels.router.restore(0.5, age=0.0)
        assert (await house.ask('Which colours are there?')).path is Path.L2
        house.levels.router.restore(4.0, age=0.0)
        assert (await house.ask('Which colours are there?', 'other')).path is Path.L1


@pytest.mark.anyio
async def test_first_tokens_are_samples_even_of_turns_that_are_stopped_later(
    folder: FilePath, embedder: Embedder
) -> None:
    half = Script([sse(chunk('Once')), STALL])
    async with scripted_cloud(half, Script(status=500), Script([STALL]), STORY) as cloud, open_house(
        folder, embedder, cloud, {'l0.enabled': False}
    ) as house:
        def samples() -> int:
            return house.levels.router.state().ttft_samples

        turn = house.submit(LIGHTHOUSE)
        await until(lambda: turn.informative)
        assert samples() == 1
        house.dialogue.stop_all('enough')
        await house.settled(turn)
        assert (await house.ask(FOX)).outcome is Outcome.FAILED
        stalled = house.submit(MUSIC)
        await until(lambda: len(cloud.requests) == 3)
        house.dialogue.stop_all('enough')
        await house.settled(stalled)
        assert samples() == 1, 'neither a failure nor a wait in vain is a sample'
        await house.ask(LIGHTHOUSE)
        assert samples() == 2


@pytest.mark.anyio
async def test_the_filler_follows_the_share_of_instant_paths(
    folder: FilePath, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('pace_ros.filler.fillers.GRACE', 60.0)  # an instant path is always sooner, on any machine
    gate = asyncio.Event()
    settings: dict[str, object] = {'filler.mode': 'adaptive', 'filler.budget_low': 0.0}
    generator = ScriptedGenerator('Good question!')
    async with scripted_cloud(Script([gate, answer('Yes.')]), answer('No.')) as cloud, open_house(
        folder, embedder, cloud, settings, generator=generator
    ) as house:
        first = house.submit(LIGHTHOUSE)
        await until(lambda: house.fillers(first))
        gate.set()
        await house.settled(first)
        assert first.record.filler_decision == 'adaptive: P(inst) 0.300 <= 0.7'
        assert first.record.filler_budget == pytest.approx(0.8 * 1.5, abs=0.1)
        for number in range(32):
            record = await house.ask(COLOURS, f'c{number}')
        assert record.filler_decision.startswith('adaptive: P(inst) 0.9')
        launched = [turn.record.filler_launched for turn in house.turns]
        assert launched == sorted(launched, reverse=True), 'launched until the share was above 0.7, never after'
        last = await house.ask(FOX)
        assert (last.path, last.filler_launched, last.filler_reason) == (Path.L2, False, '')
        assert math.isnan(last.filler_budget)
        assert len(generator.jobs) == 1, 'instant paths began no generation'


@pytest.mark.anyio
async def test_the_record_says_why_a_launched_filler_was_not_shown(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, {'filler.mode': 'fixed'}, generator=ScriptedGenerator(None)
    ) as house:
        assert (await house.ask(COLOURS)).filler_reason == 'instant path'
        record = await house.ask(LIGHTHOUSE)
        assert (record.filler_launched, record.filler_shown) == (True, False)
        assert record.filler_reason == 'the first token came first'


@pytest.mark.anyio
async def test_above_the_cost_ceiling_fillers_are_canned(folder: FilePath, embedder: Embedder) -> None:
    gate, generator = asyncio.Event(), ScriptedGenerator('Good question!')
    settings: dict[str, object] = {'filler.mode': 'fixed', 'cost.fillers': 0.5}
    async with scripted_cloud(Script([gate, answer('Yes.')])) as cloud, open_house(
        folder, embedder, cloud, settings, generator=generator
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: house.fillers(turn))
        assert turn.record.filler_reason == 'placeholder: cost ceiling'
        assert generator.jobs == []
        gate.set()
        await house.settled(turn)
        assert turn.record.filler_calls == 0


@pytest.mark.anyio
@pytest.mark.parametrize(('said', 'conflict'), [('Sure, red!', ''), ('It has 5 seats.', 'seats')])
async def test_a_filler_is_held_against_its_answer(
    folder: FilePath, embedder: Embedder, said: str, conflict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    monkeypatch.setattr('pace_ros.filler.fillers.rejection', lambda text, limit: '')  # a filter that fails
    async with scripted_cloud(Script([gate, answer('It seats 7:', ' it has 7 seats.')])) as cloud, open_house(
        folder, embedder, cloud, {'filler.mode': 'fixed'}, generator=ScriptedGenerator(said)
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: house.fillers(turn))
        gate.set()
        await house.settled(turn)
        assert turn.record.filler_conflict == conflict
        assert [each.filler_conflict for each in house.outlet.turns] == [conflict]
        meter = house.levels.conflicts
        assert isinstance(meter, ConflictMeter)
        assert (meter.measured, meter.rate) == (1, float(bool(conflict)))


@pytest.mark.anyio
@pytest.mark.parametrize(('judge', 'verdict'), [(True, 'contradict'), (False, '')])
async def test_the_judge_speaks_before_the_record_is_written(
    folder: FilePath, embedder: Embedder, judge: bool, verdict: str
) -> None:
    gate = asyncio.Event()
    settings: dict[str, object] = {'filler.mode': 'fixed', 'filler.judge': judge}
    async with scripted_cloud(Script([gate, answer('Yes.')]), answer('Yes', ', they do.')) as cloud, open_house(
        folder, embedder, cloud, settings, generator=ScriptedGenerator('Good question!')
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: house.fillers(turn))
        gate.set()
        await house.settled(turn)
        await until(lambda: not house.dialogue._tasks)
        (record,) = await house.written()
        assert record.filler_verdict == verdict
        assert len(cloud.requests) == 1 + judge
        assert house.levels.conflicts.judged == judge


@pytest.mark.anyio
async def test_a_judge_who_does_not_answer_costs_no_record_at_the_end(folder: FilePath, embedder: Embedder) -> None:
    gate = asyncio.Event()
    settings: dict[str, object] = {'filler.mode': 'fixed', 'filler.judge': True}
    async with scripted_cloud(Script([gate, answer('Yes.')]), Script([STALL])) as cloud, open_house(
        folder, embedder, cloud, settings, generator=ScriptedGenerator('Good question!')
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: house.fillers(turn))
        gate.set()
        await until(lambda: len(cloud.requests) == 2)
        await house.dialogue.aclose()
        (record,) = await house.written()
        assert record.filler_verdict == 'none: the node is stopping'
        assert turn.record.outcome is Outcome.ANSWERED


@pytest.mark.anyio
async def test_a_hedged_turn_is_answered_by_whoever_speaks_first(folder: FilePath, embedder: Embedder) -> None:
    settings: dict[str, object] = {
        'hedge.enabled': True, 'hedge.min_samples': 2, 'hedge.max_share': 1.0, 'l0.enabled': False,
    }
    async with scripted_cloud(STORY, STORY, Script([STALL])) as cloud, scripted_cloud(answer('Me first.')) as rival:
        second = ChatClient(Endpoint(rival.base_url, 'm2'), lambda: Config().l2, VirtualClock())
        async with open_house(folder, embedder, cloud, settings, hedge=second) as house:
            for question in (LIGHTHOUSE, FOX):
                assert (await house.ask(question)).hedge == ''
            record = await house.ask(MUSIC)
            assert (record.hedge, record.answer) == ('second', 'Me first.')
            await until(lambda: cloud.closed_early == 1)
            assert record.tokens_wasted > 0
            assert record.ttft > 0
            assert rival.requests[0]['model'] == 'm2'
        await second.aclose()


@pytest.mark.anyio
async def test_a_volatile_question_is_volatile_whatever_the_router_does(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, FREE) as house:
        for mode in ROUTERS:
            record = await house.ask(PRICE, arm=Arm(router=mode, filler='adaptive'))
            assert (record.volatile_query, record.admitted, record.path) == (True, False, Path.L2)


PACE = {'l0': 'on', 'l1': 'on', 'rag': 'on', 'persona': 'on'}
OFF = dict.fromkeys(PACE, 'off')
ARMS = {
    'Pure LLM': Arm('Pure LLM', 'static', 'off', 'off', **OFF),
    'Standard RAG': Arm('Standard RAG', 'static', 'off', 'off', **OFF | {'rag': 'on', 'persona': 'on'}),
    'GPTCache': Arm('GPTCache', 'static', 'off', 'off', **PACE | {'l1': 'off'}),
    'PACE-static': Arm('PACE-static', 'static', 'fixed', 'off', **PACE),
    'PACE-full': Arm('PACE-full', 'adaptive', 'adaptive', 'ttl', **PACE),
    'PACE-gated': Arm('PACE-gated', 'gated', 'adaptive', 'ttl', **PACE),
    'A1': Arm('A1', 'static', 'adaptive', 'ttl', **PACE),
    'A2-off': Arm('A2-off', 'adaptive', 'off', 'ttl', **PACE),
    'A2-fixed': Arm('A2-fixed', 'adaptive', 'fixed', 'ttl', **PACE),
    'A3-off': Arm('A3-off', 'adaptive', 'adaptive', 'off', **PACE),
    'A4': Arm('A4', 'adaptive', 'adaptive', 'ttl', **PACE | {'l1': 'off'}),
    'shipped': Arm('shipped', 'gated', 'adaptive', 'deny', **PACE),
}


@pytest.mark.anyio
async def test_every_arm_of_the_table_runs_in_one_node_turn_by_turn(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, FREE) as house:
        for name, arm in ARMS.items():
            house.cache.clear()
            records = [await house.ask(question, f'{name} {place}', arm)
                       for place, question in enumerate((LIGHTHOUSE, LIGHTHOUSE, COLOURS))]
            assert all(record.switches == arm for record in records)
            assert records[0].path is Path.L2
            assert records[1].path is (Path.L0 if arm.l0 == 'on' else Path.L2)
            assert records[2].path is (Path.L1 if arm.l1 == 'on' else Path.L2)
            prompt = house.asked(-1)[0]['content'] if arm.l1 == 'off' else ''
            assert ('It comes in red' in prompt) == (arm.l1 == 'off' and arm.rag == 'on')
        assert len(cloud.requests) == sum(turn.record.path is Path.L2 for turn in house.turns)


@pytest.mark.anyio
async def test_the_judge_does_not_begin_while_the_dialogue_closes(folder: FilePath, embedder: Embedder) -> None:
    gate = asyncio.Event()
    settings: dict[str, object] = {'filler.mode': 'fixed', 'filler.judge': True}
    half = Script([gate, sse(chunk('Half an answer')), STALL])
    async with scripted_cloud(half, Script([STALL])) as cloud, open_house(
        folder, embedder, cloud, settings, generator=ScriptedGenerator('Good question!')
    ) as house:
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: house.fillers(turn))
        gate.set()
        await until(lambda: turn.informative)
        await house.dialogue.aclose()
        (record,) = await house.written()
        assert (record.outcome, record.filler_verdict) == (Outcome.CANCELLED, '')
        assert len(cloud.requests) == 1


@pytest.mark.anyio
async def test_a_text_that_cannot_be_compared_costs_no_turn(
    folder: FilePath, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_texts: str) -> str:
        raise RecursionError('too clever')

    gate = asyncio.Event()
    async with scripted_cloud(Script([gate, answer('Yes.')])) as cloud, open_house(
        folder, embedder, cloud, {'filler.mode': 'fixed'}, generator=ScriptedGenerator('Good question!')
    ) as house:
        monkeypatch.setattr(house.levels.facts, 'conflict', broken)
        turn = house.submit(LIGHTHOUSE)
        await until(lambda: house.fillers(turn))
        gate.set()
        await house.settled(turn)
        assert [each.outcome for each in house.outlet.turns] == [Outcome.ANSWERED]
        assert house.levels.conflicts.measured == 0
