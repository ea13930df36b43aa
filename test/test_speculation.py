"""Speculative turns: what is begun before the visitor has finished, and what becomes of it."""
from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path as FilePath

import pytest
from harness import COLOURS, FOX, LIGHTHOUSE, MUSIC, House, open_house, until
from support import STALL, Script, answer, scripted_cloud

from pace_ros.config import Cost
from pace_ros.config import Speculation as SpeculationSettings
from pace_ros.control import CostLedger
from pace_ros.embedding import Embedder
from pace_ros.query import Foreseen
from pace_ros.speculation import Speculator
from pace_ros.turn import Outcome, Path, Utterance

STORY = answer('Once upon', ' a time.')
ON: dict[str, object] = {'speculation.enabled': True, 'speculation.stable_for': 0.01}
NAMELESS = LIGHTHOUSE.rstrip('.')


@pytest.fixture
def folder(tmp_path: FilePath) -> FilePath:
    return tmp_path / 'house'


def whisper(house: House, text: str, utterance_id: str = 'u', conversation: str = 'default') -> None:
    """The recogniser has a hypothesis."""
    house.dialogue.hear_partial(Utterance(
        text=text, received=house.clock.monotonic(), utterance_id=utterance_id, conversation_id=conversation,
        partial=True,
    ))


def prepared(house: House, conversation: str = 'default') -> bool:
    """Whether the preparation for a hypothesis is complete."""
    held = house.dialogue._speculator._open.get(conversation)
    return held is not None and held.task is not None and held.task.done()


@pytest.mark.anyio
async def test_it_is_off_by_default(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud) as house:
        whisper(house, LIGHTHOUSE)
        assert house.dialogue._speculator._open == {}
        assert (await house.ask(LIGHTHOUSE, utterance_id='u')).speculation == ''


@pytest.mark.anyio
async def test_the_final_words_take_over_what_was_asked_ahead(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, ON) as house:
        whisper(house, NAMELESS)
        await until(lambda: prepared(house))
        await until(lambda: cloud.requests)
        assert house.outlet.events == []
        record = await house.ask(LIGHTHOUSE, utterance_id='u')
        assert (record.speculation, record.path, record.answer) == ('used', Path.L2, 'Once upon a time.')
        assert record.head_start > 0
        assert len(cloud.requests) == 1
        assert house.embedder.seen.count(NAMELESS) + house.embedder.seen.count(LIGHTHOUSE) == 1, 'embedded once'
        assert record.admitted
        assert [row.entry.question for row in house.cache.entries()] == [LIGHTHOUSE]
        state = house.levels.router.state()
        assert state.ttft_samples == 1
        assert house.levels.ledger.per_turn()[0] == record.tokens_in + record.tokens_out


@pytest.mark.anyio
async def test_an_answer_that_was_ready_comes_at_once_without_a_filler(folder: FilePath, embedder: Embedder) -> None:
    on = ON | {'filler.mode': 'fixed', 'filler.budget': 0.0}
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, on) as house:
        whisper(house, LIGHTHOUSE)
        await until(lambda: (held := house.dialogue._speculator._open.get('default')) and held.task and held.task.done()
                    and held.task.result().request and held.task.result().request.over)
        record = await house.ask(LIGHTHOUSE, utterance_id='u')
        assert record.speculation == 'used'
        assert not record.filler_shown


@pytest.mark.anyio
async def test_other_words_cancel_it_without_a_trace_but_its_cost(folder: FilePath, embedder: Embedder) -> None:
    stalled = Script([answer('Lost', ' words')[:60], STALL])
    async with scripted_cloud(stalled, answer('Moo.'), answer('Again.')) as cloud, open_house(
        folder, embedder, cloud, ON
    ) as house:
        whisper(house, MUSIC)
        await until(lambda: cloud.requests)
        record = await house.ask(FOX, utterance_id='u')
        await until(lambda: cloud.closed_early == 1)
        assert (record.speculation, record.answer) == ('dropped: another question', 'Moo.')
        assert len(cloud.requests) == 2
        assert record.tokens_wasted > 0
        assert [row.entry.question for row in house.cache.entries()] == [FOX]
        assert house.levels.router.state().ttft_samples == 1
        spent, _ = house.levels.ledger.per_turn()
        assert spent == record.tokens_in + record.tokens_out + record.tokens_wasted
        await house.ask('And what did it do then?')
        said = ' '.join(message['content'] for message in house.asked())
        assert FOX in said
        assert MUSIC not in said


@pytest.mark.anyio
async def test_nothing_of_it_enters_the_share_of_instant_paths_or_the_arrivals(
    folder: FilePath, embedder: Embedder
) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, ON) as house:
        before = house.levels.router.state()
        whisper(house, COLOURS)
        await until(lambda: prepared(house))
        whisper(house, LIGHTHOUSE)
        await until(lambda: cloud.requests)
        after = house.levels.router.state()
        assert after.decision.p_instant == before.decision.p_instant
        assert after.arrival_rate == before.arrival_rate == 0
        assert (house.cache.lookups, house.cache.hits) == (0, 0)


@pytest.mark.anyio
async def test_only_a_hypothesis_that_stays_is_prepared(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, ON) as house:
        for words in ('Tell', 'Tell me', 'Tell me a story', LIGHTHOUSE):
            whisper(house, words)
        await until(lambda: prepared(house))
        whisper(house, LIGHTHOUSE.upper())  # the same words
        assert prepared(house)
        assert house.embedder.seen == [LIGHTHOUSE]


@pytest.mark.anyio
async def test_a_question_for_an_instant_path_only_gets_its_vector(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, ON) as house:
        whisper(house, COLOURS)
        await until(lambda: prepared(house))
        record = await house.ask(COLOURS, utterance_id='u')
        assert (record.path, record.speculation) == (Path.L1, 'dropped: not needed')
        assert house.embedder.seen == [COLOURS]
        assert cloud.requests == []


@pytest.mark.anyio
async def test_a_cached_question_is_not_asked_ahead(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, ON) as house:
        await house.ask(LIGHTHOUSE)
        whisper(house, LIGHTHOUSE, utterance_id='v')
        await until(lambda: prepared(house))
        assert (await house.ask(LIGHTHOUSE, utterance_id='v')).path is Path.L0
        assert len(cloud.requests) == 1


@pytest.mark.anyio
@pytest.mark.parametrize('setting', [
    {'speculation.max_p_instant': 0.2}, {'speculation.max_load': 0.0, 'router.ttft_high': 1.6}, {'cost.tokens': 1.0},
])
async def test_the_model_is_not_asked_ahead_where_it_is_unlikely_or_too_dear(
    folder: FilePath, embedder: Embedder, setting: dict[str, object]
) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, ON | setting) as house:
        whisper(house, LIGHTHOUSE)
        await until(lambda: prepared(house))
        assert cloud.requests == []
        record = await house.ask(LIGHTHOUSE, utterance_id='u')
        assert (record.outcome, record.speculation) == (Outcome.ANSWERED, 'dropped: not needed')


@pytest.mark.anyio
async def test_nor_while_the_breaker_is_open(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(Script(status=500), STORY) as cloud, open_house(
        folder, embedder, cloud, ON | {'l2.breaker_failures': 1}
    ) as house:
        await house.ask(FOX)
        assert house.llm.breaker.state == 'open'
        whisper(house, LIGHTHOUSE)
        await until(lambda: prepared(house))
        assert len(cloud.requests) == 1


@pytest.mark.anyio
async def test_words_nearly_the_same_count_if_their_facts_are(folder: FilePath, embedder: Embedder) -> None:
    on = ON | {'speculation.similarity': 0.9}
    async with scripted_cloud(answer('First.'), answer('Second.')) as cloud, open_house(
        folder, embedder, cloud, on
    ) as house:
        whisper(house, 'Tell me a story about a lighthouse please')
        await until(lambda: cloud.requests)
        assert (await house.ask(LIGHTHOUSE, utterance_id='u')).speculation == 'used'
        whisper(house, 'Sing me two songs about the lonely fox', utterance_id='v', conversation='other')
        await until(lambda: len(cloud.requests) == 2)
        record = await house.ask('Sing me three songs about the lonely fox', 'other', utterance_id='v')
        assert record.speculation == 'dropped: another question'


@pytest.mark.anyio
async def test_an_answer_made_for_another_history_is_dropped(folder: FilePath, embedder: Embedder) -> None:
    gate = asyncio.Event()
    async with scripted_cloud(Script([gate, answer('Yes.')]), answer('Old.'), answer('New.')) as cloud, open_house(
        folder, embedder, cloud, ON
    ) as house:
        first = house.submit(MUSIC)
        await until(lambda: len(cloud.requests) == 1)
        whisper(house, LIGHTHOUSE)
        await until(lambda: len(cloud.requests) == 2)
        gate.set()
        await house.settled(first)
        record = await house.ask(LIGHTHOUSE, utterance_id='u')
        assert (record.speculation, record.answer) == ('dropped: other passages or history', 'New.')


@pytest.mark.anyio
async def test_a_request_that_failed_is_made_again(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(Script(status=500), STORY) as cloud, open_house(folder, embedder, cloud, ON) as house:
        whisper(house, LIGHTHOUSE)
        await until(lambda: cloud.requests and prepared(house))
        held = house.dialogue._speculator._open['default'].task
        assert held is not None
        request = held.result().request
        assert request is not None
        await until(lambda: request.over)
        record = await house.ask(LIGHTHOUSE, utterance_id='u')
        assert (record.speculation, record.outcome) == ('dropped: the request failed', Outcome.ANSWERED)


def end_conversation(house: House) -> None:
    house.dialogue.end_conversation('default')


def say_nothing_clear(house: House) -> None:
    house.submit(LIGHTHOUSE, utterance_id='u', confidence=0.1)


def say_too_much(house: House) -> None:
    house.submit('x' * 600, utterance_id='u')


def say_another_utterance(house: House) -> None:
    house.submit('   ', utterance_id='another')


def whisper_nothing(house: House) -> None:
    whisper(house, ' ')


@pytest.mark.anyio
@pytest.mark.parametrize('event', [end_conversation, say_nothing_clear, say_too_much, say_another_utterance,
                                   whisper_nothing, lambda house: None])
async def test_whatever_happens_a_request_nobody_wants_is_ended(
    folder: FilePath, embedder: Embedder, event: Callable[[House], None]
) -> None:
    on = ON | {'speculation.patience': 0.1 if event.__name__ == '<lambda>' else 60.0}
    async with scripted_cloud(Script([STALL])) as cloud, open_house(folder, embedder, cloud, on) as house:
        whisper(house, LIGHTHOUSE)
        await until(lambda: cloud.requests)
        event(house)
        await until(lambda: cloud.closed_early == 1)
        held = house.dialogue._speculator._open.get('default')
        assert held is None or held.task is None


@pytest.mark.anyio
async def test_a_turn_stopped_before_its_first_step_ends_the_request_too(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(Script([STALL])) as cloud, open_house(folder, embedder, cloud, ON) as house:
        whisper(house, LIGHTHOUSE)
        await until(lambda: cloud.requests and prepared(house))
        turn = house.submit(LIGHTHOUSE, utterance_id='u')
        house.dialogue.stop_all('stop')
        await until(lambda: cloud.closed_early == 1)
        await house.settled(turn)
        assert turn.record.outcome is Outcome.CANCELLED


@pytest.mark.anyio
async def test_closing_the_dialogue_ends_the_request(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(Script([STALL])) as cloud:
        async with open_house(folder, embedder, cloud, ON) as house:
            whisper(house, LIGHTHOUSE)
            await until(lambda: cloud.requests)
        await until(lambda: cloud.closed_early == 1)
        assert house.outlet.events == [], 'a hypothesis is no turn'


@pytest.mark.anyio
async def test_a_hypothesis_that_comes_after_the_final_words_is_ignored(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, ON) as house:
        await house.ask(FOX, utterance_id='u')
        whisper(house, LIGHTHOUSE, utterance_id='u')
        assert house.dialogue._speculator._open == {}


# -- the speculator alone ----------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_preparation_still_under_way_is_not_waited_for() -> None:
    gate = asyncio.Event()

    async def prepare(_wanted: Callable[[], bool]) -> Foreseen:
        await gate.wait()
        return Foreseen('words')

    speculator = Speculator(lambda: SpeculationSettings(enabled=True, stable_for=0.01), CostLedger(Cost))
    speculator.hear('c', 'u', 'words', prepare)
    await until(lambda: speculator._open['c'].task is not None)
    claimed = speculator.claim('c', 'u')
    assert claimed is not None
    assert (claimed.request, claimed.reason) == (None, 'dropped: not ready yet')
    gate.set()
    await speculator.aclose()


@pytest.mark.anyio
async def test_a_preparation_that_fails_costs_nothing_but_itself() -> None:
    async def prepare(_wanted: Callable[[], bool]) -> Foreseen:
        raise RuntimeError('broken')

    speculator = Speculator(lambda: SpeculationSettings(enabled=True, stable_for=0.01), CostLedger(Cost))
    speculator.hear('c', 'u', 'words', prepare)
    await until(lambda: (held := speculator._open['c'].task) is not None and held.done())
    claimed = speculator.claim('c', 'u')
    assert claimed is not None
    assert claimed.reason == 'dropped: it failed'
    speculator.hear('c', 'v', 'words', prepare)
    await until(lambda: (held := speculator._open['c'].task) is not None and held.done())
    speculator.drop('c')
    await speculator.aclose()


@pytest.mark.anyio
async def test_what_is_remembered_of_finished_utterances_is_bounded() -> None:
    speculator = Speculator(lambda: SpeculationSettings(enabled=True), CostLedger(Cost))
    for number in range(1100):
        assert speculator.claim(f'c{number}', f'u{number}') is None
    assert len(speculator._finished) == 1000


# -- what a reviewer of the log wants to know --------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_hypothesis_dropped_while_it_is_prepared_is_not_asked_and_costs_nothing(
    folder: FilePath, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, ON) as house:
        gate, search = asyncio.Event(), house.cascade._lookup.search

        async def slow_search(query: object) -> None:
            await gate.wait()
            await search(query)  # type: ignore[arg-type]

        monkeypatch.setattr(house.cascade._lookup, 'search', slow_search)
        whisper(house, LIGHTHOUSE)
        await until(lambda: house.embedder.seen)
        house.dialogue._speculator.drop('default')
        gate.set()
        await until(lambda: not house.dialogue._speculator._closing)
        assert cloud.requests == []
        assert house.levels.ledger.per_turn() == (0, 0)


@pytest.mark.anyio
async def test_the_next_turn_s_record_tells_what_dropped_hypotheses_cost(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(Script([STALL]), STORY) as cloud, open_house(folder, embedder, cloud, ON) as house:
        whisper(house, MUSIC)
        await until(lambda: cloud.requests)
        house.dialogue._speculator.drop('default')
        await until(lambda: cloud.closed_early == 1 and not house.dialogue._speculator._closing)
        record = await house.ask(FOX, utterance_id='u')
        assert (record.speculation, record.outcome) == ('dropped: other words', Outcome.ANSWERED)
        assert record.tokens_wasted > 0
        assert (await house.ask(LIGHTHOUSE, utterance_id='v')).tokens_wasted == 0
        assert (house.cascade.asked_ahead, house.cascade.used_ahead) == (1, 0)


@pytest.mark.anyio
async def test_a_hypothesis_that_sticks_is_prepared_once(folder: FilePath, embedder: Embedder) -> None:
    on = ON | {'speculation.patience': 0.6}  # enough for the request to arrive
    async with scripted_cloud(Script([STALL])) as cloud, open_house(folder, embedder, cloud, on) as house:
        for _ in range(5):
            whisper(house, LIGHTHOUSE)
            await until(lambda: cloud.closed_early == 1)
        whisper(house, LIGHTHOUSE)
        assert len(cloud.requests) == 1
        assert house.dialogue._speculator._open['default'].state == 'expired'


@pytest.mark.anyio
async def test_an_answer_begun_on_old_knowledge_is_not_cached(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(folder, embedder, cloud, ON) as house:
        whisper(house, LIGHTHOUSE)
        await until(lambda: cloud.requests and prepared(house))
        house.cache.invalidate(terms=['lighthouse'])
        record = await house.ask(LIGHTHOUSE, utterance_id='u')
        assert (record.speculation, record.admitted) == ('used', False)


@pytest.mark.anyio
async def test_hypotheses_open_no_conversation_and_are_bounded(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(STORY) as cloud, open_house(
        folder, embedder, cloud, ON | {'speculation.stable_for': 5.0}
    ) as house:
        for number in range(1100):
            whisper(house, LIGHTHOUSE, conversation=f'c{number}')
        assert house.dialogue.open_conversations == 0
        assert len(house.dialogue._speculator._open) == 1000
