"""The identity of a visit from the dialogue to the wire, and prompts that only grow (design section 9)."""
from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path as FilePath

import pytest
from harness import COLOURS, COLOURS_ASKED_OTHERWISE, FOX, LIGHTHOUSE, MUSIC, House, open_house, until
from support import STALL, Script, ScriptedCloud, answer, scripted_cloud
from whole import ask, assembled, configured

from pace_ros.clock import VirtualClock
from pace_ros.embedding import Embedder
from pace_ros.turn import Outcome, Path, Utterance

pytestmark = pytest.mark.anyio
STORY = answer('Once upon', ' a time.')
STICKY: dict[str, object] = {'l2.sticky': 'gateway'}
TRAILER = 'May I tow a trailer with it?'
AHEAD = STICKY | {'speculation.enabled': True, 'speculation.stable_for': 0.01}
# Everything near enough to inform the model does, so that any question brings passages; L1 answers nothing itself.
APPEND: dict[str, object] = {'l2.layout': 'append', 'l1.passage_floor': 0.0, 'l1.top_k': 2, 'l0.enabled': False}
ONE: dict[str, object] = {'l1.top_k': 1, 'l1.enabled': False}


@pytest.fixture
def folder(tmp_path: FilePath) -> FilePath:
    return tmp_path / 'house'


@pytest.fixture
async def cloud() -> AsyncIterator[ScriptedCloud]:
    async with scripted_cloud(STORY) as opened:
        yield opened


def visits(cloud: ScriptedCloud) -> list[str]:
    """Who the requests were for; a request without a body is the end of a visit."""
    asked = zip(cloud.headers, cloud.requests, strict=True)
    return [headers.get('x-session-id', '') for headers, body in asked if body]


def ends(cloud: ScriptedCloud) -> int:
    return cloud.requests.count({})


def whisper(house: House, text: str) -> None:
    house.dialogue.hear_partial(Utterance(
        text=text, received=house.clock.monotonic(), utterance_id='u', conversation_id='default', partial=True,
    ))


async def test_a_visit_has_one_identity_and_the_next_one_another(
    folder: FilePath, embedder: Embedder, cloud: ScriptedCloud
) -> None:
    async with open_house(folder, embedder, cloud, STICKY) as house:
        for question in (LIGHTHOUSE, FOX):
            await house.ask(question)
        await house.ask(MUSIC, 'another visitor')
        assert house.dialogue.end_conversation('default')
        await until(lambda: ends(cloud) == 1)
        await house.ask(FOX + ' Now!')
    first, second, other, new = visits(cloud)
    assert first == second
    assert len({first, other, new}) == 3
    assert all(len(each) == 32 for each in (first, other, new))


async def test_two_robots_with_a_conversation_of_the_same_name_share_none(
    folder: FilePath, embedder: Embedder, cloud: ScriptedCloud
) -> None:
    async with open_house(folder / '1', embedder, cloud, STICKY) as one, open_house(
        folder / '2', embedder, cloud, STICKY
    ) as two:
        await one.ask(LIGHTHOUSE)
        await two.ask(LIGHTHOUSE)
    assert len(set(visits(cloud))) == 2


async def test_an_idle_visitor_s_place_is_given_back(
    folder: FilePath, embedder: Embedder, cloud: ScriptedCloud
) -> None:
    clock = VirtualClock()
    async with open_house(folder, embedder, cloud, STICKY, clock=clock) as house:
        await house.ask(LIGHTHOUSE)
        clock.advance(121.0)
        house.dialogue.forget_idle()
        await until(lambda: ends(cloud) == 1)
        await house.ask(FOX)
    assert len(set(visits(cloud))) == 2


@pytest.mark.usefixtures('one_encoder', 'knowledge')
async def test_a_robot_that_stops_gives_its_places_back(tmp_path: FilePath, cloud: ScriptedCloud) -> None:
    async with assembled(configured(tmp_path, cloud, l2__sticky='gateway')) as (whole, _):
        await ask(whole, LIGHTHOUSE)
        assert ends(cloud) == 0
    assert ends(cloud) == 1


async def test_without_a_preset_nothing_is_sent(folder: FilePath, embedder: Embedder, cloud: ScriptedCloud) -> None:
    async with open_house(folder, embedder, cloud) as house:
        await house.ask(LIGHTHOUSE)
        house.dialogue.end_conversation('default')
    assert visits(cloud) == ['']
    assert ends(cloud) == 0


async def test_what_is_asked_ahead_is_of_the_visit_it_becomes_a_turn_of(
    folder: FilePath, embedder: Embedder, cloud: ScriptedCloud
) -> None:
    async with open_house(folder, embedder, cloud, AHEAD) as house:
        whisper(house, LIGHTHOUSE)
        await until(lambda: cloud.requests)
        assert (await house.ask(LIGHTHOUSE, utterance_id='u')).speculation == 'used'
        await house.ask(FOX)
    first, second = visits(cloud)
    assert first == second


async def test_a_visitor_who_leaves_unheard_leaves_nothing_behind(
    folder: FilePath, embedder: Embedder, cloud: ScriptedCloud
) -> None:
    async with open_house(folder, embedder, cloud, AHEAD) as house:
        whisper(house, LIGHTHOUSE)
        await until(lambda: cloud.requests)
        house.dialogue.end_conversation('default')
        await until(lambda: ends(cloud) == 1)
        await house.ask(FOX)
    assert len(set(visits(cloud))) == 2


async def test_what_was_asked_ahead_in_vain_is_ended_before_the_turn_waits(
    folder: FilePath, embedder: Embedder, cloud: ScriptedCloud
) -> None:
    """A server takes one turn of a visit at a time."""
    gate = asyncio.Event()
    await cloud.play(Script([STORY[:60], STALL]), Script([gate, STORY]))
    async with open_house(folder, embedder, cloud, AHEAD) as house:
        whisper(house, MUSIC)
        await until(lambda: cloud.requests)
        turn = house.submit(FOX, utterance_id='u')
        await until(lambda: cloud.closed_early == 1)
        assert not turn.ended.is_set()
        gate.set()
        await house.settled(turn)
        assert turn.record.outcome is Outcome.ANSWERED


async def test_an_answer_prepared_for_the_visitor_before_is_not_the_next_one_s(
    folder: FilePath, embedder: Embedder, cloud: ScriptedCloud
) -> None:
    async with open_house(folder, embedder, cloud, AHEAD) as house:
        whisper(house, LIGHTHOUSE)
        await until(lambda: cloud.requests)
        held = house.dialogue._speculator._open['default']
        await until(lambda: held.task is not None and held.task.done())
        assert held.task is not None
        held.task.result().visit = 'of the one before'
        record = await house.ask(LIGHTHOUSE, utterance_id='u')
        assert record.speculation == 'dropped: another visit'
        assert record.outcome is Outcome.ANSWERED
    assert len(visits(cloud)) == 2


# -- prompts that only grow --------------------------------------------------------------------------------------------


async def test_with_append_a_visit_s_prompt_grows_over_all_levels(
    folder: FilePath, embedder: Embedder, cloud: ScriptedCloud
) -> None:
    async with open_house(folder, embedder, cloud, APPEND) as house:
        paths = [(await house.ask(question)).path for question in (LIGHTHOUSE, COLOURS, FOX, MUSIC)]
        prompts = [house.asked(number) for number in range(3)]
    assert paths == [Path.L2, Path.L1, Path.L2, Path.L2]
    for earlier, later in itertools.pairwise(prompts):
        assert later[:len(earlier)] == earlier
    said = [message['content'] for message in prompts[-1]]
    assert [len(prompt) for prompt in prompts] == [2, 6, 8]
    assert said[1].startswith('Showroom notes:\n- ')
    assert said[1].endswith(f'\n\n{LIGHTHOUSE}')
    assert said[3:5] == [COLOURS, 'It comes in red, blue and white.']
    assert 'Showroom notes' not in said[0]


async def test_in_front_it_does_not(folder: FilePath, embedder: Embedder, cloud: ScriptedCloud) -> None:
    async with open_house(folder, embedder, cloud, APPEND | {'l2.layout': 'front', **ONE}) as house:
        for question in (LIGHTHOUSE, TRAILER):
            await house.ask(question)
        first, second = house.asked(0), house.asked(1)
    assert first[0] != second[0]
    assert [message['content'] for message in second[1:]] == [LIGHTHOUSE, 'Once upon a time.', TRAILER]


async def test_with_append_an_answer_is_built_on_what_stands_in_its_history_too(
    folder: FilePath, embedder: Embedder, cloud: ScriptedCloud
) -> None:
    async with open_house(folder, embedder, cloud, APPEND | ONE | {'l0.enabled': True}) as house:
        first, second = [await house.ask(question) for question in (TRAILER, LIGHTHOUSE)]
        assert first.entry_ids != second.entry_ids
        sources = {row.entry.question: {source.entry_id for source in row.entry.sources}
                   for row in house.cache.entries()}
        assert sources[LIGHTHOUSE] == {*first.entry_ids, *second.entry_ids}


async def test_with_append_withdrawn_knowledge_leaves_the_history(
    folder: FilePath, embedder: Embedder, cloud: ScriptedCloud
) -> None:
    async with open_house(folder, embedder, cloud, APPEND | ONE) as house:
        await house.ask(LIGHTHOUSE)
        assert house.asked()[1]['content'].startswith('Showroom notes:')
        house.knowledge_file.write_text('- {id: new, questions: {en: ["Is it new?"]}, answer: {en: "It is new."}}\n')
        house.levels.knowledge.reload()  # type: ignore[attr-defined]
        await house.ask('Is this one new?')
        contents = [message['content'] for message in house.asked()]
    assert contents[1] == LIGHTHOUSE
    assert contents[3] == 'Showroom notes:\n- It is new.\n\nIs this one new?'


async def test_with_append_words_that_differ_slightly_take_over_what_was_asked_ahead(
    folder: FilePath, embedder: Embedder, cloud: ScriptedCloud
) -> None:
    """The history then holds the message that was sent."""
    async with open_house(folder, embedder, cloud, AHEAD | APPEND) as house:
        whisper(house, LIGHTHOUSE.rstrip('.'))
        await until(lambda: cloud.requests)
        assert (await house.ask(LIGHTHOUSE, utterance_id='u')).speculation == 'used'
        await house.ask(FOX)
        first, second = house.asked(0), house.asked(1)
    assert second[:2] == first
    assert first[1]['content'].endswith(LIGHTHOUSE.rstrip('.'))


TOO_LONG = b'{"error": {"message": "900 tokens are more than a context of 800."}}'


async def test_a_prompt_that_is_too_long_is_asked_again_with_less_history(
    folder: FilePath, embedder: Embedder,
) -> None:
    refused = Script([TOO_LONG], status=413)
    async with (
        scripted_cloud(*[STORY] * 3, refused, STORY) as cloud,
        open_house(folder, embedder, cloud, APPEND | ONE | {'l2.history_turns': 4}) as house,
    ):
        records = [await house.ask(question) for question in (TRAILER, FOX, MUSIC, TRAILER)]
        assert [(each.outcome, each.path) for each in records] == [(Outcome.ANSWERED, Path.L2)] * 4
        whole, short = house.asked(3), house.asked(4)
        assert (len(whole), len(short), len(cloud.requests)) == (8, 4, 5)
        assert short[:3] == [whole[0], *whole[5:7]], 'two of three exchanges are gone'
        assert whole[-1]['content'] == TRAILER, 'what it needs stands in the history'
        assert short[-1]['content'] == whole[1]['content'], 'which is gone: it is told again'
        assert house.levels.llm.breaker.state == 'closed'
        assert ([each.restarts for each in records], records[-1].tokens_wasted) == ([0, 0, 0, 1], 0)
        assert (await house.ask(FOX)).restarts == 0
        assert house.asked()[:4] == short, 'later turns begin with what fitted'
        assert (len(cloud.requests), len(house.asked())) == (6, 6)


async def test_where_knowledge_changes_after_a_cut_the_cut_remains(folder: FilePath, embedder: Embedder) -> None:
    scripts = [*[STORY] * 2, Script([TOO_LONG], status=413), Script([STALL]), STORY]
    settings = APPEND | ONE | {'l2.history_turns': 4, 'volatility.on_change': 'restart'}
    async with scripted_cloud(*scripts) as cloud, open_house(folder, embedder, cloud, settings) as house:
        for question in (LIGHTHOUSE, FOX):
            await house.ask(question)
        turn = house.submit(COLOURS)
        await until(lambda: len(cloud.requests) == 4)
        house.knowledge_file.write_text('- {id: new, questions: {en: ["Is it new?"]}, answer: {en: "It is new."}}\n')
        house.levels.knowledge.reload()  # type: ignore[attr-defined]
        house.cascade.knowledge_changed(['colours', 'hook', 'toilets'], [])
        await house.settled(turn)
        before, after = house.asked(3), house.asked(4)
    assert (turn.record.outcome, turn.record.restarts) == (Outcome.ANSWERED, 2)
    assert before[1]['content'] == f'Showroom notes:\n- It comes in red, blue and white.\n\n{FOX}'
    assert [len(before), len(after)] == [4, 4]
    assert after[1]['content'] == FOX, 'what is withdrawn leaves what was kept, too'


async def test_one_that_is_too_long_without_any_history_ends_in_the_fallback(
    folder: FilePath, embedder: Embedder
) -> None:
    refused, settings = Script([TOO_LONG], status=413), {
        'router.theta_direct': 1.0, 'fallback.floor': 0.3, 'l0.enabled': False,
    }
    async with scripted_cloud(*[STORY] * 3, refused, refused, refused, STORY) as cloud, open_house(
        folder, embedder, cloud, settings
    ) as house:
        for question in (LIGHTHOUSE, FOX, MUSIC):
            await house.ask(question)
        booked = house.levels.ledger.per_turn()[0] * 3
        record = await house.ask(COLOURS_ASKED_OTHERWISE)
        assert [len(house.asked(number)) for number in (3, 4, 5)] == [8, 4, 2]
        assert (record.path, record.answer) == (Path.FALLBACK, 'It comes in red, blue and white.')
        assert (record.restarts, record.tokens_wasted, record.outcome) == (2, 0, Outcome.ANSWERED)
        assert house.levels.ledger.per_turn()[0] * 4 == pytest.approx(booked), 'what is refused costs nothing'
        await house.ask(FOX)
        assert len(house.asked()) == 4, 'a history begins anew'


async def test_one_that_is_too_long_without_a_history_is_not(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(Script([TOO_LONG], status=413)) as cloud, open_house(folder, embedder, cloud) as house:
        record = await house.ask(LIGHTHOUSE)
        assert (record.path, len(cloud.requests)) == (Path.FALLBACK, 1)
        assert 'HTTP 413' in record.reason
