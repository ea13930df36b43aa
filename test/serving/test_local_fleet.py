"""Real llama.cpp servers behind the real gateway, started by the one command that a newcomer runs."""
from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from printed_url import printed_url
from serving_fleet import messages

from pace_ros import packaged
from pace_ros.serving import local_fleet as module
from pace_ros.serving.fleet import fleet_of
from pace_ros.serving.l2_gateway import bound_for
from pace_ros.serving.replica_process import NotStarted
from pace_ros.settings import ConfigError

ROOT = Path(__file__).resolve().parents[2]
START = 60.0  # s; loading takes a few
KEY = 'key-of-the-replicas'
LONG = 'The showroom has four cars: a red one, a blue one, a green one and a grey one. Which one is red?'
SETTINGS = 'health_period: 0.3\ndeadlines: {total: 60.0, ending: 1}\n'

pytest.importorskip('xllamacpp', reason='real replicas need xllamacpp')


class Served:
    """The command as a process: its gateway's base URL, its replicas."""

    def __init__(self, process: subprocess.Popen[str], url: str, log: Path) -> None:
        self.process = process
        self.log = log
        self.http = httpx.Client(base_url=url, trust_env=False, timeout=60)
        found = re.findall(r'(\S+): (http://\S+), process (\d+), .* --slot-dir (\S+)', log.read_text())
        self.replicas = {name: address for name, address, _, _ in found}
        self.pids = {name: int(pid) for name, _, pid, _ in found}
        self.folder = Path(found[0][3])

    def ask(self, key: str, *words: str, **fields: Any) -> dict[str, Any]:
        asked = {'messages': messages(*words), 'max_tokens': 6, 'temperature': 0, **fields}
        response = self.http.post('/chat/completions', json=asked, headers={'x-session-id': key})
        assert response.status_code == 200, response.text
        return dict(response.json())

    def conversations(self) -> dict[str, dict[str, Any]]:
        return {each['id']: each for each in self.http.get('/conversations').json()['conversations']}

    def slots(self, name: str) -> list[int]:
        listed = httpx.get(f'{self.replicas[name]}/slots', headers={'authorization': f'Bearer {KEY}'}).json()
        return [each.get('n_prompt_tokens') or 0 for each in listed]

    def count(self, name: str) -> float:
        text = self.http.get(self.http.base_url.join('/metrics')).text
        return sum(map(float, re.findall(rf'^l2_gateway_{name}(?:{{.*}})? (\S+)$', text, re.MULTILINE)))

    def exact(self) -> bool:
        """Whether the ledger holds what the servers do."""
        return all(
            each['held'] == self.slots(each['replica'])[each['slot']] and each['reserved'] == 0
            for each in self.conversations().values() if 'replica' in each
        )

    def becomes_exact(self) -> bool:
        until = time.monotonic() + 10
        while not self.exact() and time.monotonic() < until:
            time.sleep(0.1)
        return self.exact()


@contextlib.contextmanager
def served(folder: Path, *more: str) -> Iterator[Served]:
    try:
        packaged.small_chat_model()
    except packaged.MissingPackage as absent:
        pytest.skip(str(absent))
    (folder / 'settings.yaml').write_text(SETTINGS)
    log = folder / 'log'
    words = ('--port', '0', '--slots', '2', '--context', '512', '--settings', str(folder / 'settings.yaml'), *more)
    environment = {'PACE_REPLICA_API_KEY': KEY}
    with printed_url(
        'pace_ros.serving.local_fleet', *words, log=log, start=START, environment=environment,
    ) as (process, url):  # killed, its replicas end with it
        yield Served(process, url, log)


@pytest.fixture(scope='module')
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp('fleet')) as running:
        yield running


def test_a_cache_moves_once_and_later_turns_read_what_is_new(fleet: Served) -> None:
    first = fleet.ask('v', LONG)
    prompt = first['usage']['prompt_tokens']
    assert first['usage']['prompt_tokens_details']['cached_tokens'] == prompt - 1
    assert fleet.slots('prefill-1')[0] == prompt
    turns = [LONG, first['choices'][0]['message']['content']]
    for question in ('And the blue one?', 'Which is grey?'):
        later = fleet.ask('v', *turns, question)
        usage = later['usage']
        assert usage['prompt_tokens_details']['cached_tokens'] > prompt
        assert usage['prompt_tokens'] - usage['prompt_tokens_details']['cached_tokens'] < 20
        turns += [question, later['choices'][0]['message']['content']]
    assert (fleet.count('handed_over_total'), fleet.count('drift_total')) == (1, 0)
    assert fleet.exact()


def test_its_text_is_that_of_the_same_slot_asked_again(fleet: Served) -> None:
    handed_over = fleet.ask('text', LONG)
    again = fleet.ask('text', LONG)
    assert again['usage']['prompt_tokens_details'] == handed_over['usage']['prompt_tokens_details']
    assert again['choices'] == handed_over['choices']


def test_slots_that_share_a_cache_do_the_same(tmp_path: Path) -> None:
    with served(tmp_path, '--kv', '1024') as fleet:
        handed_over, again = fleet.ask('v', LONG), fleet.ask('v', LONG)
        assert again['choices'] == handed_over['choices']
        prompt = again['usage']['prompt_tokens']
        assert again['usage']['prompt_tokens_details']['cached_tokens'] == prompt - 1
        later = fleet.ask('v', LONG, again['choices'][0]['message']['content'], 'And the blue one?')['usage']
        assert later['prompt_tokens_details']['cached_tokens'] > prompt
        assert (fleet.count('handed_over_total'), fleet.count('drift_total')) == (1, 0)
        assert fleet.exact()
        assert sum(fleet.slots('prefill-1')) == 0  # emptied, since what it holds would be room taken


def test_streamed_it_says_the_same(fleet: Served) -> None:
    whole = fleet.ask('text', LONG)['choices'][0]['message']['content']
    asked = {'messages': messages(LONG), 'max_tokens': 6, 'temperature': 0, 'stream': True}
    with fleet.http.stream('POST', '/chat/completions', json=asked, headers={'x-session-id': 'text'}) as response:
        payloads = [line.removeprefix('data: ') for line in response.iter_lines() if line]
    assert payloads[-1] == '[DONE]'
    deltas = [json.loads(each)['choices'][0]['delta'] for each in payloads[:-1]]
    assert ''.join(delta.get('content') or '' for delta in deltas) == whole


def test_an_interrupted_answer_is_settled(fleet: Served) -> None:
    asked = {'messages': messages(LONG), 'max_tokens': 200, 'stream': True}
    with fleet.http.stream('POST', '/chat/completions', json=asked, headers={'x-session-id': 'text'}) as response:
        next(response.iter_lines())
    assert fleet.becomes_exact()
    home = fleet.conversations()['text']
    fleet.ask('text', LONG, 'Wait.', 'And the blue one?')
    assert fleet.conversations()['text']['replica'] == home['replica']
    assert fleet.count('drift_total') == 0


def test_the_slot_folder_is_private_and_empty(fleet: Served) -> None:
    assert fleet.folder.stat().st_mode & 0o777 == 0o700
    assert list(fleet.folder.iterdir()) == []


def test_nobody_else_asks_a_replica(fleet: Served) -> None:
    assert httpx.get(f'{fleet.replicas["decode-1"]}/slots').status_code == 401


def test_a_killed_decoder_costs_time_alone(fleet: Served) -> None:
    home = fleet.conversations()['v']['replica']
    os.kill(fleet.pids[home], signal.SIGKILL)
    answer = fleet.ask('v', LONG)
    assert answer['choices'][0]['message']['content']
    assert fleet.conversations()['v']['replica'] not in (home, 'prefill-1')
    assert fleet.count('deaths_total') == 1
    assert fleet.becomes_exact()
    until = time.monotonic() + 5
    while 'has ended by itself, code -9; it is not started again' not in fleet.log.read_text():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_it_ends_with_an_answer_under_way_and_leaves_nothing(fleet: Served) -> None:
    endless = {'temperature': 0, 'logit_bias': {'0': -100, '2': -100}}  # without the tokens that end an answer
    asked = {'messages': messages(LONG), 'max_tokens': 400, 'stream': True, **endless}
    with fleet.http.stream('POST', '/chat/completions', json=asked, headers={'x-session-id': 'v'}) as response:
        lines = response.iter_lines()
        assert next(lines)
        fleet.process.send_signal(signal.SIGTERM)
        *_, last, blank = lines
        assert (blank, json.loads(last.removeprefix('data: '))['error']['message']) == ('', 'The gateway is ending.')
    assert fleet.process.wait(15) == 0
    assert not fleet.folder.exists()
    for pid in fleet.pids.values():
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert KEY not in fleet.log.read_text()
    assert 'Traceback' not in fleet.log.read_text()
    assert 'ERROR uvicorn' not in fleet.log.read_text()
    assert 'Cancel 1 running' not in fleet.log.read_text()


@pytest.fixture
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'ReplicaProcess', None)


@pytest.mark.usefixtures('nothing_starts')
@pytest.mark.parametrize(('options', 'says'), [
    (['--decoders', '0'], 'at least one decoder'), (['--prefillers', '-1'], 'must not be negative'),
    (['--settings', '/nowhere.yaml'], 'cannot be read'), (['--context', '3'], "Parameter 'context' must be from 16"),
    (['--kv', '100'], r'has less KV cache \(100\) than a context'),
    (['--slots', '0'], "^The replica 'prefill-1': Parameter 'slots' must be from 1"),
])
def test_options_that_make_no_fleet_get_a_sentence(options: list[str], says: str) -> None:
    with pytest.raises(ConfigError, match=says), module.local_fleet(module.arguments(options)):
        pass


@pytest.mark.usefixtures('nothing_starts')
@pytest.mark.parametrize(('settings', 'says'), [
    ('replicas: []', "without 'replicas'"), ('slot_dir: /tmp', "without 'replicas' and 'slot_dir'"),
    ('idel: 3', "There is no parameter 'idel'"), ('admission: 3', "'admission' must map settings"),
    ('policy: best', "'policy' must be one of"), ('[', 'cannot be read'),
])
def test_settings_that_cannot_be_are_named_with_their_file_before_anything_starts(
    tmp_path: Path, settings: str, says: str,
) -> None:
    path = tmp_path / 's.yaml'
    path.write_text(settings)
    options = module.arguments(['--settings', str(path)])
    with pytest.raises(ConfigError, match=says) as refused, module.local_fleet(options):
        pass
    assert str(refused.value).startswith(str(path))


@pytest.mark.usefixtures('nothing_starts')
def test_so_is_a_port_that_is_taken() -> None:
    with socket.create_server(('127.0.0.1', 0)) as taken:
        options = module.arguments(['--port', str(taken.getsockname()[1])])
        with pytest.raises(ConfigError, match='Address already in use'), module.local_fleet(options):
            pass


class Ended:
    """A replica that has ended by itself."""

    ended = True

    def __init__(self, name: str) -> None:
        self.name = name

    def wait(self) -> None:
        pass


@pytest.fixture
def signals() -> Iterator[None]:
    before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    yield
    for number, handler in before:
        signal.signal(number, handler)


@pytest.mark.usefixtures('signals')
def test_without_a_decoder_it_ends_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    replicas = [{'name': name, 'url': f'http://127.0.0.1:{number + 1}', 'role': role}
                for number, (name, role) in enumerate([('p', 'prefill'), ('d-1', 'decode'), ('d-2', 'decode')])]
    fleet = fleet_of({'replicas': replicas})
    processes = [Ended(each['name']) for each in replicas]
    processes[0].ended = False
    with bound_for(fleet, 0) as bound, pytest.raises(module.NoDecoder, match='no decoder is left: d-1, d-2 ended'):
        module._serve(fleet, bound, processes)  # type: ignore[arg-type]
    assert capsys.readouterr().out.startswith('http://127.0.0.1:')


def test_a_replica_that_does_not_start_is_named(tmp_path: Path) -> None:
    options = module.arguments(['--prefillers', '0', '--decoders', '1', '--port', '0', '--model', str(tmp_path / 'no')])
    with pytest.raises(NotStarted, match=r'decode-1 does not start: l2_replica: There is no model at'):
        module.local_fleet(options).__enter__()
