"""Knowledge changes: what was built on it leaves before the service returns, what is under way is not cached."""
from __future__ import annotations

import asyncio
import datetime
import sqlite3
from pathlib import Path as FilePath

import numpy as np
import pytest
from harness import COLOURS, COLOURS_ASKED_OTHERWISE, KNOWLEDGE, LIGHTHOUSE, until
from support import Script, ScriptedCloud, answer, chunk, scripted_cloud, sse
from whole import ask, assembled, configured

from pace_ros.assembly import Assembly
from pace_ros.cache import CacheEntry, Source
from pace_ros.clock import SystemClock
from pace_ros.live_turn import LiveTurn
from pace_ros.retrieval import KnowledgeError
from pace_ros.thinking import MOST_RESTARTS
from pace_ros.turn import Outcome, Path, Utterance

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures('one_encoder')]
STORY = answer('Once upon a time.')
NO_DIRECT = 0.99  # so that what the knowledge base could answer is the language model's, built on its passages


def questions(whole: Assembly) -> list[str]:
    return [each.entry.question for each in whole.cache.entries()]


def begin(whole: Assembly, text: str) -> LiveTurn:
    return whole.dialogue.submit(Utterance(text, SystemClock().monotonic()))


async def ended(turn: LiveTurn) -> None:
    await until(lambda: turn.silent)


async def test_a_changed_or_withdrawn_entry_takes_its_answers_out_of_the_cache(
    tmp_path: FilePath, knowledge: FilePath
) -> None:
    async with scripted_cloud(STORY) as cloud, assembled(
        configured(tmp_path, cloud, router__theta_direct=NO_DIRECT)
    ) as (whole, _outlet):
        assert (await ask(whole, COLOURS_ASKED_OTHERWISE)).record.entry_ids == ('colours',)
        await ask(whole, LIGHTHOUSE)
        assert len(whole.cache) == 2
        knowledge.write_text(KNOWLEDGE.replace('red, blue', 'green, blue'), encoding='utf-8')
        change = whole.freshness.reload()
        assert (change.added, change.changed, change.withdrawn) == ((), ('colours',), ())
        assert questions(whole) == [LIGHTHOUSE]
        await ask(whole, COLOURS_ASKED_OTHERWISE)
        assert len(whole.cache) == 2
        knowledge.write_text(KNOWLEDGE[KNOWLEDGE.index('- id: toilets'):], encoding='utf-8')
        assert whole.freshness.reload().withdrawn == ('colours',)
        assert questions(whole) == [LIGHTHOUSE]


async def test_knowledge_edited_while_the_node_was_down(tmp_path: FilePath, knowledge: FilePath) -> None:
    async with scripted_cloud(STORY) as cloud:
        config = configured(tmp_path, cloud, router__theta_direct=NO_DIRECT)
        async with assembled(config) as (whole, _outlet):
            await ask(whole, COLOURS_ASKED_OTHERWISE)
            await ask(whole, LIGHTHOUSE)
        async with assembled(config) as (whole, _outlet):
            assert sorted(questions(whole)) == sorted([COLOURS_ASKED_OTHERWISE, LIGHTHOUSE])
        knowledge.write_text(KNOWLEDGE.replace('red, blue', 'green, blue'), encoding='utf-8')
        async with assembled(config) as (whole, _outlet):
            assert questions(whole) == [LIGHTHOUSE]


async def test_a_broken_knowledge_file_leaves_the_old_one_in_service(tmp_path: FilePath, knowledge: FilePath) -> None:
    async with scripted_cloud(STORY) as cloud, assembled(configured(tmp_path, cloud)) as (whole, _outlet):
        knowledge.write_text('- id: colours', encoding='utf-8')
        with pytest.raises(KnowledgeError, match=r'knowledge\.yaml, line 1'):
            whole.freshness.reload()
        assert (await ask(whole, COLOURS)).record.path is Path.L1


async def test_invalidation_by_entry_and_by_term(tmp_path: FilePath, knowledge: FilePath) -> None:
    async with assembled(configured(tmp_path)) as (whole, _outlet):
        for number, (text, entry_id) in enumerate([('hook', 'hook'), ('winter tyres', 'x'), ('seats', 'seats')]):
            vector = np.eye(whole.embedder.dimension, dtype=np.float32)[number]
            entry = CacheEntry(f'q{number}', text, 'en', (Source(entry_id, 'v'),), 0.0, None)
            assert whole.cache.admit(entry, vector)
        assert whole.freshness.invalidate(['hook'], ['Winter Tyres']) == 2
        assert questions(whole) == ['q2']


async def begun(whole: Assembly, cloud: ScriptedCloud, text: str) -> LiveTurn:
    """A question the model has been asked and has not answered yet."""
    before = len(cloud.requests)
    turn = begin(whole, text)
    await until(lambda: len(cloud.requests) > before)
    return turn


@pytest.mark.parametrize(('entry_ids', 'terms', 'admitted'), [
    (['colours'], [], False),  # in its prompt
    ([], ['Colours'], False),  # in its question
    (['toilets'], ['hook'], True),  # not its business
])
async def test_an_answer_under_way_is_delivered_but_cached_only_if_it_is_not_built_on_the_change(
    tmp_path: FilePath, knowledge: FilePath, entry_ids: list[str], terms: list[str], *, admitted: bool
) -> None:
    gate = asyncio.Event()
    async with scripted_cloud(Script([gate, STORY])) as cloud, assembled(
        configured(tmp_path, cloud, router__theta_direct=NO_DIRECT)
    ) as (whole, _outlet):
        turn = await begun(whole, cloud, COLOURS_ASKED_OTHERWISE)
        await asyncio.to_thread(whole.freshness.invalidate, entry_ids, terms)
        gate.set()
        await ended(turn)
        assert (turn.record.outcome, turn.record.admitted, turn.record.restarts) == (Outcome.ANSWERED, admitted, 0)
        assert len(cloud.requests) == 1
        assert len(whole.cache) == admitted


async def test_an_answer_under_way_is_restarted_with_the_new_knowledge(
    tmp_path: FilePath, knowledge: FilePath
) -> None:
    async with scripted_cloud(Script([asyncio.Event()]), STORY) as cloud, assembled(
        configured(tmp_path, cloud, router__theta_direct=NO_DIRECT, volatility__on_change='restart')
    ) as (whole, _outlet):
        turn = await begun(whole, cloud, COLOURS_ASKED_OTHERWISE)
        knowledge.write_text(KNOWLEDGE.replace('red, blue', 'green, blue'), encoding='utf-8')
        await asyncio.to_thread(whole.freshness.reload)
        await ended(turn)
        assert (turn.record.outcome, turn.record.answer, turn.record.restarts) == (
            Outcome.ANSWERED, 'Once upon a time.', 1
        )
        prompts = [request['messages'][0]['content'] for request in cloud.requests]
        assert ['red, blue' in prompt for prompt in prompts] == [True, False]
        assert 'green, blue' in prompts[1]
        assert turn.record.admitted, 'it is built on what holds now'
        assert turn.record.tokens_wasted > 0


async def test_where_knowledge_keeps_changing_the_last_restart_is_delivered(
    tmp_path: FilePath, knowledge: FilePath
) -> None:
    gate = asyncio.Event()
    never = Script([asyncio.Event()])
    async with scripted_cloud(*[never] * MOST_RESTARTS, Script([gate, STORY])) as cloud, assembled(
        configured(tmp_path, cloud, router__theta_direct=NO_DIRECT, volatility__on_change='restart')
    ) as (whole, _outlet):
        turn = await begun(whole, cloud, COLOURS_ASKED_OTHERWISE)
        for restart in range(1, MOST_RESTARTS + 2):
            await asyncio.to_thread(whole.freshness.invalidate, ['colours'], [])
            if restart <= MOST_RESTARTS:
                await until(lambda count=restart + 1: len(cloud.requests) == count)
        gate.set()
        await ended(turn)
        assert (turn.record.outcome, turn.record.restarts) == (Outcome.ANSWERED, MOST_RESTARTS)
        assert not turn.record.admitted, 'it was built before the last change'


async def test_an_entry_withdrawn_since_the_search_is_in_no_prompt(
    tmp_path: FilePath, knowledge: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted_cloud(STORY) as cloud, assembled(
        configured(tmp_path, cloud, router__theta_direct=NO_DIRECT)
    ) as (whole, _outlet):
        search = whole.knowledge.search

        def search_then_withdraw(*arguments: object) -> object:
            hits = search(*arguments)  # type: ignore[arg-type]
            assert hits[0].entry.entry_id == 'colours'
            knowledge.write_text(KNOWLEDGE[KNOWLEDGE.index('- id: toilets'):], encoding='utf-8')
            whole.freshness.reload()
            return hits

        monkeypatch.setattr(whole.knowledge, 'search', search_then_withdraw)
        record = (await ask(whole, COLOURS_ASKED_OTHERWISE)).record
        assert record.entry_ids == ()
        assert 'red, blue' not in cloud.requests[0]['messages'][0]['content']


async def test_what_was_removed_is_gone_from_the_database_itself(tmp_path: FilePath, knowledge: FilePath) -> None:
    """Not only from its journal, which a power cut may shorten."""
    async with scripted_cloud(STORY) as cloud, assembled(
        configured(tmp_path, cloud, router__theta_direct=NO_DIRECT)
    ) as (whole, _outlet):
        await ask(whole, COLOURS_ASKED_OTHERWISE)
        whole.save_cache()
        for expected in (1, 0):
            copy = tmp_path / f'{expected}.sqlite'
            copy.write_bytes((tmp_path / 'data' / 'l0.sqlite').read_bytes())
            db = sqlite3.connect(copy)
            assert db.execute('SELECT count(*) FROM entry').fetchone() == (expected,)
            db.close()
            whole.freshness.invalidate(['colours'], [])


async def test_what_has_begun_to_be_heard_is_not_restarted(tmp_path: FilePath, knowledge: FilePath) -> None:
    gate = asyncio.Event()
    async with scripted_cloud(Script([sse(chunk('Once upon ')), gate, answer('a time.')])) as cloud, assembled(
        configured(tmp_path, cloud, router__theta_direct=NO_DIRECT, volatility__on_change='restart')
    ) as (whole, outlet):
        turn = await begun(whole, cloud, COLOURS_ASKED_OTHERWISE)
        await until(lambda: outlet.frames)
        await asyncio.to_thread(whole.freshness.invalidate, ['colours'], [])
        gate.set()
        await ended(turn)
        assert (turn.record.answer, turn.record.restarts, turn.record.admitted) == ('Once upon a time.', 0, False)


async def test_an_answer_does_not_outlive_the_knowledge_in_its_prompt(tmp_path: FilePath, knowledge: FilePath) -> None:
    today = datetime.date.today()
    dated = KNOWLEDGE.replace('- id: colours', f'- id: colours\n  valid_until: {today.isoformat()}')
    knowledge.write_text(dated, encoding='utf-8')
    async with scripted_cloud(STORY) as cloud, assembled(
        configured(tmp_path, cloud, router__theta_direct=NO_DIRECT)
    ) as (whole, _outlet):
        await ask(whole, COLOURS_ASKED_OTHERWISE)
        (stored,) = whole.cache.entries()
        midnight = datetime.datetime.combine(today + datetime.timedelta(days=1), datetime.time())
        assert stored.entry.expires == midnight.timestamp()


async def test_changes_are_counted_by_class_and_proposed(tmp_path: FilePath, knowledge: FilePath) -> None:
    async with assembled(configured(tmp_path)) as (whole, _outlet):
        whole.freshness.invalidate(['hook', 'no such entry'], [])
        whole.freshness.invalidate([], ['tow hook'])
        whole.freshness.invalidate(['colours'], [])
        found = whole.freshness.proposals(0.05)
        assert {name: each.events for name, each in found.items()} == {'knowledge': 2, 'stable': 1}
    assert (tmp_path / 'data' / 'change_rates.json').is_file()
