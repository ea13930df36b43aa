"""All parts put together from one configuration, and taken apart without loss."""
from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path as FilePath

import pytest
from harness import COLOURS, FOX, LIGHTHOUSE, MUSIC, Ledger, until
from support import STALL, Script, answer, scripted_cloud
from whole import ask, assembled, configured, speaker

from pace_ros.assembly import Assembly
from pace_ros.cache import PatternError, PatternLists
from pace_ros.clock import SystemClock
from pace_ros.embodiment import SpeechError
from pace_ros.filler import PhraseError
from pace_ros.llm import PersonaError
from pace_ros.record import read_turns
from pace_ros.retrieval import KnowledgeError
from pace_ros.settings import ConfigError
from pace_ros.turn import Outcome, Path, Utterance

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures('one_encoder')]
STORY = answer('Once upon a time.')


async def test_it_answers_and_remembers_over_a_restart(tmp_path: FilePath, knowledge: FilePath) -> None:
    async with scripted_cloud(STORY) as cloud:
        config = configured(tmp_path, cloud)
        for path in (Path.L2, Path.L0):
            async with assembled(config) as (whole, _outlet):
                assert (await ask(whole, LIGHTHOUSE)).record.path is path
                assert (await ask(whole, COLOURS)).record.path is Path.L1
        assert len(cloud.requests) == 1
    records = list(read_turns(tmp_path / 'data' / 'turns.jsonl'))
    assert [record.path for record in records] == [Path.L2, Path.L1, Path.L0, Path.L1]
    assert (tmp_path / 'data' / 'l0.sqlite').is_file()
    assert knowledge.is_file()


async def test_closing_stops_the_turns_and_keeps_their_records(tmp_path: FilePath, knowledge: FilePath) -> None:
    others = set(threading.enumerate())
    async with scripted_cloud(STORY, Script([STALL])) as cloud:
        config = configured(tmp_path, cloud, filler__mode='fixed')
        async with assembled(config) as (whole, outlet):
            await ask(whole, LIGHTHOUSE)
            for name in 'abc':
                whole.dialogue.submit(Utterance(MUSIC, SystemClock().monotonic(), conversation_id=name))
            await until(lambda: len(cloud.requests) == 4 and len(outlet.frames) == 2 + 1 + 3)
        assert len(outlet.turns) == 4
        outcomes = [record.outcome for record in read_turns(tmp_path / 'data' / 'turns.jsonl')]
        assert outcomes == [Outcome.ANSWERED, *[Outcome.CANCELLED] * 3]
        names = {thread.name for thread in set(threading.enumerate()) - others}
        assert not names & {'record-writer', 'cache-saver', 'filler'}
        assert not any(name.startswith('recall') for name in names)


async def test_nothing_is_kept_where_nothing_shall_be(tmp_path: FilePath, knowledge: FilePath) -> None:
    async with scripted_cloud(STORY) as cloud, assembled(
        configured(tmp_path, cloud, l0__file='none', record__file='none', router__file='none')
    ) as (whole, outlet):
        assert (await ask(whole, LIGHTHOUSE)).record.admitted
        assert whole.writer is None
        assert whole.cache.file is None
        with pytest.raises(RuntimeError, match=r'l0\.file is none'):
            whole.save_cache()
        assert len(outlet.turns) == 1
    assert not (tmp_path / 'data').exists()


async def test_files_may_be_named(tmp_path: FilePath, knowledge: FilePath) -> None:
    cache, log, memory = tmp_path / 'x' / 'c.sqlite', tmp_path / 'y' / 't.jsonl', tmp_path / 'z' / 'r.json'
    async with scripted_cloud(STORY) as cloud, assembled(
        configured(tmp_path, cloud, l0__file=str(cache), record__file=str(log), router__file=str(memory))
    ) as (whole, _outlet):
        await ask(whole, LIGHTHOUSE)
        assert whole.save_cache() == 1
        assert cache.is_file()
    assert json.loads(log.read_text(encoding='utf-8'))['text'] == LIGHTHOUSE
    assert json.loads(memory.read_text(encoding='utf-8'))['ttft'] < 1.5


async def test_a_damaged_cache_file_starts_empty(
    tmp_path: FilePath, knowledge: FilePath, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / 'data').mkdir()
    (tmp_path / 'data' / 'l0.sqlite').write_bytes(b'PK\x03\x04 damaged' * 1000)
    async with assembled(configured(tmp_path)) as (whole, _outlet):
        assert len(whole.cache) == 0
    assert any('the cache starts empty' in each.message for each in caplog.records)
    assert len(list((tmp_path / 'data').glob('l0.sqlite.damaged-*'))) == 1


async def test_a_second_node_on_the_same_file_keeps_its_cache_in_memory(
    tmp_path: FilePath, knowledge: FilePath, caplog: pytest.LogCaptureFixture
) -> None:
    async with scripted_cloud(STORY) as cloud:
        config = configured(tmp_path, cloud)
        async with assembled(config) as (first, _outlet), assembled(config) as (second, _other):
            assert 'kept in memory only' in caplog.text
            assert (await ask(second, LIGHTHOUSE)).record.admitted
            with pytest.raises(RuntimeError, match='in use'):
                second.save_cache()
            assert (len(first.cache), len(second.cache)) == (0, 1)


@pytest.mark.parametrize(('name', 'value', 'error', 'words'), [
    ('l1__knowledge', ['/none/here.yaml'], KnowledgeError, '/none/here.yaml'),
    ('filler__phrases_file', '/none/phrases.yaml', PhraseError, '/none/phrases.yaml'),
    ('l2__persona_file', '/none/persona.yaml', PersonaError, '/none/persona.yaml'),
    ('l2__base_url', 'ftp://cloud', ConfigError, 'ftp://cloud'),
])
async def test_what_cannot_be_loaded_is_named(
    tmp_path: FilePath, knowledge: FilePath, name: str, value: object, error: type[Exception], words: str
) -> None:
    config = configured(tmp_path, **{name: value})
    with pytest.raises(error, match=words):
        Assembly(lambda: config, SystemClock(), outlet=Ledger(), speaker=speaker())


async def test_a_missing_lexicon_is_named(
    tmp_path: FilePath, knowledge: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(_folder: FilePath, name: str) -> None:
        raise PatternError(f'There is no {name}.<language>.txt.')

    monkeypatch.setattr(PatternLists, 'read', absent)
    with pytest.raises(PatternError, match='There is no'):
        Assembly(lambda: configured(tmp_path), SystemClock(), outlet=Ledger(), speaker=speaker())


async def test_word_lists_may_be_ones_own(tmp_path: FilePath, knowledge: FilePath) -> None:
    """A list that is not in the folder is the packaged one."""
    own = tmp_path / 'lists'
    own.mkdir()
    (own / 'volatile.en.txt').write_text('[tale]\n\\bstory\\b\n', encoding='utf-8')
    async with scripted_cloud(STORY) as cloud, assembled(
        configured(tmp_path, cloud, lexicon_dir=str(own), volatility__rules=['tale=ttl:60'])
    ) as (whole, _outlet):
        record = (await ask(whole, LIGHTHOUSE)).record
        assert record.admission_reason == 'tale: ttl 60 s'
        assert (await ask(whole, 'How much is that one?')).record.scope == ''


async def test_a_rule_for_a_class_that_does_not_exist_is_refused(tmp_path: FilePath, knowledge: FilePath) -> None:
    with pytest.raises(ConfigError, match="names the class 'prise'"):
        Assembly(lambda: configured(tmp_path, volatility__rules=['prise=off']), SystemClock(), outlet=Ledger(),
                 speaker=speaker())


async def test_without_a_filler_model_there_are_placeholders(
    tmp_path: FilePath, knowledge: FilePath, caplog: pytest.LogCaptureFixture
) -> None:
    gate = asyncio.Event()
    async with scripted_cloud(Script([gate, STORY])) as cloud, assembled(
        configured(tmp_path, cloud, filler__generator=True, filler__model='/none/model.gguf')
    ) as (whole, outlet):
        assert '/none/model.gguf' in whole.generator_error
        turn = whole.dialogue.submit(Utterance(LIGHTHOUSE, SystemClock().monotonic()))
        await until(lambda: outlet.frames)
        gate.set()
        await until(lambda: turn.silent)
        assert turn.record.filler_reason == 'placeholder: no generator'
    assert any('fillers are placeholders only' in each.message for each in caplog.records)


async def test_a_robot_that_cannot_speak_says_so_and_goes_on_in_text(
    tmp_path: FilePath, knowledge: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted_cloud(STORY) as cloud, assembled(
        configured(tmp_path, cloud, speech__enabled=True)
    ) as (whole, outlet):

        async def mute(_text: str, _locale: str) -> None:
            raise SpeechError('no engine')

        monkeypatch.setattr(whole.voice.speaker, 'prepare', mute)
        await whole.warm_up()
        assert whole.voice.error == 'no engine'
        assert (await ask(whole, FOX)).record.speech_outcome == 'failed: no engine'
        assert outlet.turns[0].outcome is Outcome.ANSWERED


async def test_the_key_of_the_endpoint_comes_from_the_environment(
    tmp_path: FilePath, knowledge: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('PACE_L2_API_KEY', 'test-key')
    monkeypatch.setenv('PACE_L2_MODEL', 'test-model')
    async with scripted_cloud(STORY) as cloud, assembled(configured(tmp_path, cloud)) as (whole, _outlet):
        await ask(whole, LIGHTHOUSE)
        assert cloud.headers[0].get('Authorization', cloud.headers[0].get('authorization')) == 'Bearer test-key'
        assert cloud.requests[0]['model'] == 'test-model'
        assert 'test-key' not in repr(whole.endpoint)
    assert 'test-key' not in (tmp_path / 'data' / 'turns.jsonl').read_text(encoding='utf-8')


async def test_the_shipped_showroom(tmp_path: FilePath) -> None:
    """The packaged knowledge, phrases and persona, with real speech into silence."""
    async with scripted_cloud(answer('您好。')) as cloud, assembled(
        configured(tmp_path, cloud, l1__knowledge=[], speech__enabled=True, locale='zh-CN')
    ) as (whole, _outlet):
        await whole.warm_up()
        assert whole.voice.error == ''
        turn = whole.dialogue.submit(Utterance('整车质保几年？', SystemClock().monotonic()))
        await until(turn.ended.is_set)
        assert (turn.record.path, turn.record.entry_ids) == (Path.L1, ('warranty-vehicle',))
        await until(lambda: any(onset.modality.name == 'SPEECH' for onset in turn.record.onsets))
        whole.dialogue.stop_all('enough')
        await until(lambda: turn.silent)
        assert turn.record.speech_outcome == 'stopped'
