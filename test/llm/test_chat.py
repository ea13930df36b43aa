from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import math
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path

import anyio
import httpx
import pytest
from support import DROP, STALL, Script, ScriptedCloud, answer, chunk, scripted_cloud, sse

from pace_ros.clock import Clock, SystemClock, VirtualClock
from pace_ros.config_levels import L2, extra_body
from pace_ros.language import is_encodable
from pace_ros.llm import BreakerOpen, ChatClient, Completion, Endpoint, L2Error, Message, chat
from pace_ros.llm.errors import L2Malformed, L2Refused, L2Timeout, L2Unreachable
from pace_ros.settings import ConfigError

pytestmark = pytest.mark.anyio

HI = [{'role': 'user', 'content': 'hi'}]
KEY = 'sk-secret-0123456789'
STOP = sse(chunk(finish='stop'))
LONG = 20.0  # s; a deadline no test reaches
GUARD = 8.0  # s; a test that takes longer has failed
WALL = 1_800_000_000


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No certificates to load for a plain HTTP server, and short pauses before retries."""
    monkeypatch.delenv('SSL_CERT_FILE', raising=False)
    monkeypatch.setenv('SSL_CERT_DIR', str(tmp_path))
    monkeypatch.setattr(chat, 'BACKOFF', 0.05)


@dataclass
class Heard:
    """What a listener got of one request."""

    pieces: list[str] = field(default_factory=list)
    report: Completion = field(default_factory=Completion)
    error: L2Error | None = None

    @property
    def text(self) -> str:
        return ''.join(self.pieces)


def l2(**settings: object) -> L2:
    patient = {'first_token_timeout': LONG, 'inter_token_timeout': LONG, 'total_timeout': LONG}
    return L2(**{**patient, **settings})  # type: ignore[arg-type]


def client_of(base_url: str, clock: Clock | None = None, key: str = '', **settings: object) -> ChatClient:
    config = l2(**settings)
    return ChatClient(Endpoint(base_url, 'm', key), lambda: config, clock or SystemClock())


@contextlib.asynccontextmanager
async def talking_to(
    *scripts: Script | bytes, clock: Clock | None = None, key: str = '', **settings: object
) -> AsyncIterator[tuple[ScriptedCloud, ChatClient]]:
    async with scripted_cloud(*scripts) as cloud:
        client = client_of(cloud.base_url, clock, key, **settings)
        try:
            with anyio.fail_after(GUARD):
                yield cloud, client
        finally:
            with anyio.CancelScope(shield=True):
                await client.aclose()


async def listen(client: ChatClient, messages: list[Message] = HI) -> Heard:
    heard = Heard()
    try:
        async with contextlib.aclosing(client.stream(messages, heard.report)) as pieces:
            async for piece in pieces:
                heard.pieces.append(piece)
    except L2Error as error:
        heard.error = error
    return heard


async def first_piece(client: ChatClient, expected: str) -> None:
    """Listen to the first piece only, then leave."""
    async with contextlib.aclosing(client.stream(HI, Completion())) as pieces:
        assert await anext(pieces) == expected


async def heard_of(*scripts: Script | bytes, **settings: object) -> Heard:
    async with talking_to(*scripts, **settings) as (_, client):  # type: ignore[arg-type]
        return await listen(client)


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(3):
        while not condition():  # noqa: ASYNC110  the server's counters have no event
            await asyncio.sleep(0.002)


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        return int(taken.getsockname()[1])


def drip(item: bytes) -> Iterator[object]:
    return itertools.cycle((item, 0.02))


class TestRequest:
    async def test_asks_for_a_stream_with_usage(self) -> None:
        async with talking_to(answer('Hello'), max_tokens=77, temperature=0.5) as (cloud, client):
            await listen(client)
        assert cloud.requests == [{
            'model': 'm', 'messages': HI, 'stream': True, 'stream_options': {'include_usage': True}, 'max_tokens': 77,
            'temperature': 0.5,
        }]
        assert cloud.headers[0]['Accept'] == 'text/event-stream'

    async def test_a_null_in_extra_body_removes_a_field_and_the_rest_is_merged(self) -> None:
        extra = json.dumps({'stream_options': None, 'temperature': 0, 'enable_thinking': False, 'unknown': None})
        async with talking_to(answer('Hello'), extra_body=extra) as (cloud, client):
            await listen(client)
        assert cloud.requests == [{
            'model': 'm', 'messages': HI, 'stream': True, 'max_tokens': 160, 'temperature': 0, 'enable_thinking': False,
        }]

    @pytest.mark.parametrize('extra', ['{', '[]', '3', '', 'null', '{"top_p": NaN}', '{"top_p": Infinity}'])
    async def test_what_no_request_could_carry_is_refused_as_configuration(self, extra: str) -> None:
        with pytest.raises(ConfigError, match=r'l2\.extra_body'):
            extra_body(L2(extra_body=extra))

    async def test_the_configuration_is_asked_anew_for_every_request(self) -> None:
        async with scripted_cloud(answer('Hello')) as cloud:
            lengths = iter([10, 20])
            config = L2()
            client = ChatClient(Endpoint(cloud.base_url, 'm'), lambda: config, SystemClock())
            for config in (L2(max_tokens=length) for length in lengths):  # noqa: B007  the client reads it
                await listen(client)
            await client.aclose()
        assert [request['max_tokens'] for request in cloud.requests] == [10, 20]

    async def test_unicode_reaches_the_model_unharmed(self) -> None:
        messages = [{'role': 'user', 'content': '续航多少？😀\u2028"\\'}]
        async with talking_to(answer('Hello')) as (cloud, client):
            assert (await listen(client, messages)).text == 'Hello'
        assert cloud.requests[0]['messages'] == messages

    async def test_posts_to_chat_completions_below_the_base_url(self) -> None:
        asked: list[httpx.Request] = []

        def handle(request: httpx.Request) -> httpx.Response:
            asked.append(request)
            return httpx.Response(200, content=answer('Hello'))  # without a content type

        transport = httpx.MockTransport(handle)
        client = ChatClient(Endpoint('http://a.example/v1', 'm', KEY), l2, SystemClock(), transport)
        assert (await listen(client)).text == 'Hello'
        assert [(request.method, str(request.url)) for request in asked] == [
            ('POST', 'http://a.example/v1/chat/completions'),
        ]
        await client.aclose()


class TestAnswer:
    async def test_pieces_arrive_in_order(self) -> None:
        heard = await heard_of(answer('Hello', ' there', '.'))
        assert heard.pieces == ['Hello', ' there', '.']
        assert heard.error is None
        assert heard.report.whole
        assert (heard.report.tokens_in, heard.report.tokens_out, heard.report.attempts) == (11, 3, 1)
        assert 0 < heard.report.ttft < GUARD

    async def test_a_piece_is_given_while_the_stream_goes_on(self) -> None:
        async with (
            talking_to(Script([sse(chunk('Hello')), STALL])) as (cloud, client),
            contextlib.aclosing(client.stream(HI, Completion())) as pieces,
        ):
            assert await anext(pieces) == 'Hello'
            assert (len(cloud.requests), cloud.closed_early) == (1, 0), 'the stream is still open'

    @pytest.mark.parametrize('separator', ['\u2028', '\u2029', '\u0085', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e'])
    async def test_separators_inside_json_are_text(self, separator: str) -> None:
        raw = sse(chunk('a|b')).replace(b'|', separator.encode())
        heard = await heard_of(raw + STOP)
        assert (heard.text, heard.error) == (f'a{separator}b', None)

    async def test_a_stream_cut_at_every_byte(self) -> None:
        text = 'é你😀\u2028!'
        heard = await heard_of(Script([bytes([byte]) for byte in answer(text, text)]))
        assert (heard.pieces, heard.error) == ([text, text], None)
        assert heard.report.whole

    async def test_multibyte_characters_cut_in_two_at_every_byte(self) -> None:
        text = '你😀é'
        stream = answer(text)
        begin = stream.index(text.encode())
        cuts = range(begin, begin + len(text.encode()) + 1)
        async with talking_to(*(Script([stream[:cut], 0.001, stream[cut:]]) for cut in cuts)) as (_, client):
            for _ in cuts:
                assert (await listen(client)).pieces == [text]

    @pytest.mark.parametrize('end', ['\r', '\n', '\r\n'])
    async def test_line_ends_in_different_chunks(self, end: str) -> None:
        stream = answer('Hello', ' there').replace(b'\n', end.encode())
        heard = await heard_of(Script([stream[place : place + 3] for place in range(0, len(stream), 3)]))
        assert (heard.pieces, heard.error) == (['Hello', ' there'], None)

    @pytest.mark.parametrize('ending', ['\r\r', '\n\n', '\r\n\r\n'])
    async def test_the_first_piece_does_not_wait_for_the_next_event(self, ending: str) -> None:
        first = sse(chunk('Hello')).replace(b'\n\n', ending.encode())
        heard = await heard_of(Script([first, STALL]), first_token_timeout=1.0, inter_token_timeout=0.1)
        assert heard.pieces == ['Hello']

    async def test_comments_missing_spaces_and_other_fields(self) -> None:
        stream = answer('Hello').replace(b'data: ', b': PROCESSING\nevent: message\nid: 3\ndata:')
        heard = await heard_of(b': ping\n\n' + stream)
        assert (heard.pieces, heard.report.whole) == (['Hello'], True)

    @pytest.mark.parametrize(
        'first',
        [
            pytest.param({'choices': [], 'prompt_filter_results': []}, id='empty-choices'),
            pytest.param(chunk(role='assistant'), id='role-only'),
            pytest.param(chunk('', role='assistant'), id='empty-text'),
            pytest.param(chunk(content=None, role='assistant'), id='null-text'),
            pytest.param(chunk(' \n'), id='blank-text'),
            pytest.param(chunk('', reasoning_content='Let me see.'), id='reasoning-content'),
            pytest.param(chunk(content=None, reasoning='Let me see.'), id='reasoning'),
            pytest.param(chunk('<think>Let me see.</think>\n\n'), id='think'),
        ],
    )
    async def test_what_comes_before_the_answer_is_no_first_token(self, first: object) -> None:
        heard = await heard_of(Script([sse(first), 0.1, sse(chunk('Hello')), STOP]))
        assert (heard.pieces, heard.error) == (['Hello'], None)
        assert heard.report.ttft >= 0.09

    async def test_what_follows_a_call_is_not_said(self) -> None:
        call = chunk(tool_calls=[{'index': 0, 'function': {'name': 'f'}}])
        heard = await heard_of(Script([sse(chunk('One moment.')), sse(call), sse(chunk(' It costs 12.')), STOP]))
        assert (heard.pieces, heard.report.whole) == (['One moment.'], False)

    async def test_the_time_to_the_first_token_is_that_of_the_first(self) -> None:
        heard = await heard_of(Script([sse(chunk('Hello')), 1.5, sse(chunk(' there.')), STOP]))
        assert heard.report.ttft < 1.4

    async def test_a_think_block_in_pieces_is_not_spoken(self) -> None:
        heard = await heard_of(answer('\n<th', 'ink>Hm', '.</', 'think>', '\n\n', 'Yes', '.'))
        assert heard.pieces == ['Yes', '.']

    async def test_text_held_in_doubt_is_spoken_at_the_end(self) -> None:
        heard = await heard_of(answer('<thi'))
        assert (heard.pieces, heard.report.whole) == (['<thi'], True)
        assert not math.isnan(heard.report.ttft)

    async def test_tool_calls_only_are_no_answer(self) -> None:
        calls = [chunk(content=None, tool_calls=[{'index': 0, 'function': {'arguments': '{'}}]) for _ in range(3)]
        heard = await heard_of(sse(*calls, chunk(finish='tool_calls'), '[DONE]'))
        assert (heard.pieces, heard.error) == ([], None)
        assert (heard.report.finish_reason, heard.report.whole) == ('tool_calls', False)
        assert math.isnan(heard.report.ttft)

    @pytest.mark.parametrize('reason', ['length', 'content_filter'])
    async def test_a_cut_answer_is_not_whole(self, reason: str) -> None:
        heard = await heard_of(answer('Hello', finish=reason))
        assert (heard.text, heard.error) == ('Hello', None)
        assert (heard.report.finish_reason, heard.report.whole) == (reason, False)

    async def test_the_finish_reason_may_come_with_the_last_text(self) -> None:
        heard = await heard_of(sse(chunk('Hello'), chunk(' there.', finish='stop'), '[DONE]'))
        assert (heard.pieces, heard.report.whole) == (['Hello', ' there.'], True)

    async def test_without_done_the_finish_reason_is_the_end(self) -> None:
        heard = await heard_of(sse(chunk('Hello')) + STOP)
        assert (heard.pieces, heard.error, heard.report.whole) == (['Hello'], None, True)

    async def test_the_last_event_may_lack_its_blank_line(self) -> None:
        heard = await heard_of(sse(chunk('Hello')) + STOP.rstrip(b'\n'))
        assert (heard.pieces, heard.error, heard.report.whole) == (['Hello'], None, True)

    async def test_a_drop_after_the_finish_reason_loses_nothing(self) -> None:
        heard = await heard_of(Script([sse(chunk('Hello')) + STOP, DROP]))
        assert (heard.pieces, heard.error, heard.report.whole) == (['Hello'], None, True)
        assert heard.report.attempts == 1

    async def test_a_stall_after_the_finish_reason_loses_nothing(self) -> None:
        heard = await heard_of(Script([sse(chunk('Hello')) + STOP, STALL]), inter_token_timeout=0.2)
        assert (heard.pieces, heard.error, heard.report.whole) == (['Hello'], None, True)

    async def test_done_ends_the_answer_though_the_connection_stays(self) -> None:
        async with talking_to(Script([answer('Hello'), STALL])) as (_, client):
            with anyio.fail_after(2):
                heard = await listen(client)
        assert (heard.pieces, heard.error, heard.report.whole) == (['Hello'], None, True)

    async def test_nothing_is_spoken_after_done(self) -> None:
        heard = await heard_of(answer('Hello') + answer('again'))
        assert heard.text == 'Hello'

    @pytest.mark.parametrize(
        'halves', [('\ud83d', '\ude00'), ('\ud83d', ''), ('', '\ude00'), ('\x00', '')],
        ids=['cut-surrogates', 'first-surrogate', 'second-surrogate', 'nul'],
    )
    async def test_every_piece_can_be_published(self, halves: tuple[str, str]) -> None:
        first, second = halves
        pieces = [json.dumps(chunk(text), ensure_ascii=True) for text in (f'Hi {first}', f'{second}!')]
        heard = await heard_of(sse(*pieces) + STOP)
        assert all(map(is_encodable, heard.pieces))
        assert heard.error is None
        assert heard.text.startswith('Hi')
        assert heard.text.endswith('!')

    async def test_many_answers_at_once_stay_apart(self) -> None:
        slow = Script([sse(chunk('one')), 0.05, sse(chunk('one')), STOP])
        async with talking_to(slow, slow, answer('two')) as (_, client):
            heard = await asyncio.gather(*(listen(client) for _ in range(3)))
        assert sorted(each.text for each in heard) == ['oneone', 'oneone', 'two']


class TestBrokenStream:
    async def test_a_drop_after_partial_output_is_neither_retried_nor_repeated(self) -> None:
        async with talking_to(Script([sse(chunk('Hel')), DROP]), answer('Hello'), retries=3) as (cloud, client):
            heard = await listen(client)
        assert heard.pieces == ['Hel']
        assert isinstance(heard.error, L2Unreachable)
        assert not heard.report.whole
        assert len(cloud.requests) == heard.report.attempts == 1

    async def test_an_end_without_finish_reason_after_partial_output_is_a_cut(self) -> None:
        async with talking_to(sse(chunk('Hel')), answer('Hello'), retries=3) as (cloud, client):
            heard = await listen(client)
        assert (heard.pieces, len(cloud.requests)) == (['Hel'], 1)
        assert isinstance(heard.error, L2Unreachable)
        assert not heard.report.whole

    @pytest.mark.parametrize(
        'before',
        [
            pytest.param([DROP], id='nothing'),
            pytest.param([b'dat', DROP], id='half-an-event'),
            pytest.param([sse(chunk('', role='assistant')), DROP], id='role'),
            pytest.param([sse(chunk(reasoning_content='Hm.')), DROP], id='reasoning'),
            pytest.param([sse(chunk('<think>Hm.')), DROP], id='think'),
            pytest.param([sse(chunk('<thi')), DROP], id='text-in-doubt'),
            pytest.param([], id='empty-body'),
            pytest.param([sse('[DONE]')], id='done-only'),
        ],
    )
    async def test_a_drop_before_any_token_is_retried(self, before: list[object]) -> None:
        async with talking_to(Script(before), answer('Hello')) as (cloud, client):
            heard = await listen(client)
        assert (heard.pieces, heard.error) == (['Hello'], None)
        assert heard.report.whole
        assert len(cloud.requests) == heard.report.attempts == 2

    async def test_an_error_object_mid_stream_ends_the_answer(self) -> None:
        script = sse(chunk('Hel'), {'error': {'message': 'worker died', 'code': 500}}, chunk('lo')) + STOP
        async with talking_to(script, answer('Hello'), retries=3) as (cloud, client):
            heard = await listen(client)
        assert (heard.pieces, len(cloud.requests)) == (['Hel'], 1)
        assert isinstance(heard.error, L2Refused)
        assert 'worker died' in str(heard.error)
        assert not heard.report.whole

    async def test_an_error_object_instead_of_an_answer(self) -> None:
        heard = await heard_of(sse({'error': 'no capacity'}), retries=0)
        assert heard.pieces == []
        assert isinstance(heard.error, L2Refused)
        assert 'no capacity' in str(heard.error)

    @pytest.mark.parametrize('junk', ['{"choices": [', '<html>', '3', '[' * 9999], ids=['cut', 'html', 'other', 'deep'])
    async def test_what_is_no_chunk_is_malformed_and_not_retried(self, junk: str) -> None:
        async with talking_to(sse(chunk('Hel'), junk), retries=3) as (cloud, client):
            heard = await listen(client)
        assert (heard.pieces, len(cloud.requests)) == (['Hel'], 1)
        assert isinstance(heard.error, L2Malformed)

    async def test_an_event_without_end_is_malformed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr('pace_ros.llm.sse.MAX_EVENT_BYTES', 1000)
        heard = await heard_of(Script(itertools.repeat(b'data: ' + b'x' * 500)))
        assert isinstance(heard.error, L2Malformed)

    @pytest.mark.parametrize('kind', ['application/json', 'text/html; charset=utf-8', 'text/plain'])
    async def test_a_wrong_content_type_is_malformed_and_not_retried(self, kind: str) -> None:
        async with talking_to(Script([answer('Hello')], headers={'content-type': kind}), retries=3) as (cloud, client):
            heard = await listen(client)
        assert (heard.pieces, len(cloud.requests)) == ([], 1)
        assert isinstance(heard.error, L2Malformed)
        assert kind in str(heard.error)

    @pytest.mark.parametrize('kind', ['text/event-stream; charset=utf-8', 'Text/Event-Stream', 'TEXT/EVENT-STREAM;a=b'])
    async def test_the_right_content_type_in_any_spelling(self, kind: str) -> None:
        heard = await heard_of(Script([answer('Hello')], headers={'content-type': kind}))
        assert (heard.pieces, heard.error) == (['Hello'], None)


class TestDeadlines:
    @pytest.mark.parametrize(
        'steps',
        [
            pytest.param(lambda: [STALL], id='silence'),
            pytest.param(lambda: [sse(chunk('', role='assistant')), STALL], id='role-then-silence'),
            pytest.param(lambda: drip(b': ping\n\n'), id='comments'),
            pytest.param(lambda: drip(b': ping'), id='a-comment-without-end'),
            pytest.param(lambda: drip(b'\n'), id='blank-lines'),
            pytest.param(lambda: drip(b'x'), id='a-line-without-end'),
            pytest.param(lambda: drip(sse(chunk(''))), id='empty-deltas'),
            pytest.param(lambda: drip(sse({'choices': []})), id='empty-choices'),
            pytest.param(lambda: drip(sse(chunk('\n'))), id='blank-text'),
            pytest.param(lambda: drip(sse(chunk(reasoning_content='Hm.'))), id='reasoning'),
            pytest.param(lambda: [sse(chunk('<think>')), *itertools.repeat(0.02, 3), STALL], id='think'),
        ],
    )
    async def test_the_first_token_must_come_in_time_whatever_drips(self, steps: Callable[[], object]) -> None:
        script = Script(steps())  # type: ignore[arg-type]
        async with talking_to(script, answer('late'), first_token_timeout=0.15, retries=3) as (cloud, client):
            heard = await listen(client)
            await until(lambda: cloud.closed_early == 1)
        assert (heard.pieces, len(cloud.requests)) == ([], 1)
        assert isinstance(heard.error, L2Timeout)
        assert 'first token' in str(heard.error)
        assert math.isnan(heard.report.ttft)

    @pytest.mark.parametrize(
        'item', [None, b': ping\n\n', b'x', sse(chunk('')), sse(chunk(reasoning_content='Hm.')), sse({'choices': []})],
    )
    async def test_the_next_token_must_come_in_time_whatever_drips(self, item: bytes | None) -> None:
        script = Script(itertools.chain([sse(chunk('Hel'))], [STALL] if item is None else drip(item)))
        async with talking_to(script, answer('late'), inter_token_timeout=0.15, retries=3) as (cloud, client):
            heard = await listen(client)
            await until(lambda: cloud.closed_early == 1)
        assert (heard.pieces, len(cloud.requests)) == (['Hel'], 1)
        assert isinstance(heard.error, L2Timeout)
        assert 'further token' in str(heard.error)
        assert not heard.report.whole

    async def test_the_whole_answer_must_come_in_time(self) -> None:
        deadlines = {'first_token_timeout': 0.3, 'inter_token_timeout': 0.3, 'total_timeout': 0.4}
        async with talking_to(Script(drip(sse(chunk('na ')))), **deadlines) as (cloud, client):
            heard = await listen(client)
            await until(lambda: cloud.closed_early == 1)
        assert len(heard.pieces) > 1
        assert isinstance(heard.error, L2Timeout)
        assert 'end of the answer' in str(heard.error)

    async def test_slow_but_steady_is_in_time(self) -> None:
        steps = [step for _ in range(12) for step in (0.05, sse(chunk('na')))]
        heard = await heard_of(Script([*steps, STOP]), inter_token_timeout=0.5, first_token_timeout=0.5)
        assert (heard.text, heard.error) == ('na' * 12, None)

    async def test_a_call_that_leaks_slowly_after_a_preamble_is_in_time(self) -> None:
        markup = '<tool_call>{"name": "f", "arguments": {"model": "Lark"}}</tool_call>'
        steps = [step for at in range(0, len(markup), 5) for step in (0.06, sse(chunk(markup[at:at + 5])))]
        heard = await heard_of(Script([sse(chunk('One moment.')), *steps, STOP]), inter_token_timeout=0.6)
        assert len(steps) / 2 * 0.06 > 0.6
        assert (heard.pieces, heard.error) == (['One moment.'], None)
        assert [call.name for call in heard.report.calls] == ['f']

    async def test_a_slow_listener_is_not_the_servers_silence(self) -> None:
        script = Script([sse(chunk('a')), 0.25, sse(chunk('b')), STOP])
        async with talking_to(script, inter_token_timeout=0.2) as (_, client):
            heard = []
            async with contextlib.aclosing(client.stream(HI, Completion())) as pieces:
                async for piece in pieces:
                    heard.append(piece)
                    await asyncio.sleep(0.3)
        assert heard == ['a', 'b']

    async def test_the_first_token_deadline_runs_through_all_attempts(self) -> None:
        failing = Script([0.15, b'{}'], status=500)
        async with talking_to(failing, failing, Script([STALL]), retries=5, first_token_timeout=1.0) as (cloud, client):
            begin = SystemClock().monotonic()
            heard = await listen(client)
            took = SystemClock().monotonic() - begin
        assert isinstance(heard.error, L2Timeout)
        assert len(cloud.requests) == heard.report.attempts == 3
        assert 0.95 < took < 1.6, 'one deadline for each attempt would end it after 1.7 s'

    async def test_an_error_body_that_stalls_is_not_waited_for(self) -> None:
        heard = await heard_of(Script([b'{"err', STALL], status=400), first_token_timeout=0.15)
        assert isinstance(heard.error, L2Error)


class TestRetries:
    @pytest.mark.parametrize('status', [408, 409, 425, 429, 500, 502, 503, 504])
    async def test_a_passing_trouble_is_retried(self, status: int) -> None:
        async with talking_to(Script([b'{}'], status=status), answer('Hello')) as (cloud, client):
            heard = await listen(client)
        assert (heard.pieces, heard.error) == (['Hello'], None)
        assert len(cloud.requests) == heard.report.attempts == 2
        assert cloud.requests[0] == cloud.requests[1]
        assert heard.report.ttft >= chat.BACKOFF

    @pytest.mark.parametrize('status', [301, 302, 400, 401, 403, 404, 413, 422, 501])
    async def test_any_other_refusal_is_not(self, status: int) -> None:
        body = b'{"error": {"message": "no such model"}}'
        async with talking_to(Script([body], status=status), answer('Hello'), retries=3) as (cloud, client):
            heard = await listen(client)
        assert (heard.pieces, len(cloud.requests), heard.report.attempts) == ([], 1, 1)
        assert isinstance(heard.error, L2Refused)
        assert heard.error.status == status
        assert f'HTTP {status}' in str(heard.error)
        assert 'no such model' in str(heard.error)

    async def test_a_long_error_page_is_cut(self) -> None:
        heard = await heard_of(Script([b'x' * 3000, b'y' * 3000, STALL], status=400))
        assert isinstance(heard.error, L2Refused)
        assert len(str(heard.error)) < 300

    async def test_a_redirect_is_not_followed(self) -> None:
        async with scripted_cloud(answer('elsewhere')) as elsewhere:
            moved = Script(status=307, headers={'location': f'{elsewhere.base_url}/chat/completions'})
            heard = await heard_of(moved, key=KEY)
        assert isinstance(heard.error, L2Refused)
        assert elsewhere.requests == []

    @pytest.mark.parametrize('retries', [0, 1, 2])
    async def test_no_more_attempts_than_allowed(self, retries: int) -> None:
        async with talking_to(Script([b'{}'], status=503), retries=retries) as (cloud, client):
            heard = await listen(client)
        assert isinstance(heard.error, L2Refused)
        assert len(cloud.requests) == heard.report.attempts == retries + 1

    async def test_different_troubles_in_a_row(self) -> None:
        scripts = (Script([b'{}'], status=500), Script([DROP]), answer('Hello'))
        async with talking_to(*scripts, retries=2) as (cloud, client):
            heard = await listen(client)
        assert (heard.pieces, len(cloud.requests)) == (['Hello'], 3)

    async def test_a_refused_connection_is_retried_and_named(self) -> None:
        client = client_of(f'http://127.0.0.1:{closed_port()}/v1', retries=1)
        heard = await listen(client)
        await client.aclose()
        assert isinstance(heard.error, L2Unreachable)
        assert 'ConnectError' in str(heard.error)
        assert heard.report.attempts == 2

    @pytest.mark.parametrize('failure', [httpx.ConnectTimeout, httpx.ConnectError, httpx.ReadError, httpx.PoolTimeout])
    async def test_trouble_with_the_connection_is_retried(self, failure: type[httpx.TransportError]) -> None:
        calls = itertools.count()

        def handle(request: httpx.Request) -> httpx.Response:
            if next(calls) == 0:
                raise failure('no', request=request)
            return httpx.Response(200, content=answer('Hello'))

        client = ChatClient(Endpoint('http://a.example/v1', 'm'), l2, SystemClock(), httpx.MockTransport(handle))
        heard = await listen(client)
        await client.aclose()
        assert (heard.pieces, heard.report.attempts) == (['Hello'], 2)

    @pytest.mark.parametrize('url', ['http://[not-an-address/v1', 'http://a.example:port/v1', 'http://', 'ftp://a/v1'])
    async def test_a_url_nobody_can_ask_is_an_l2_error(self, url: str) -> None:
        client = client_of(url, retries=0)
        heard = await listen(client)
        await client.aclose()
        assert isinstance(heard.error, L2Error)


class TestRetryAfter:
    @pytest.fixture
    def never_by_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a readable Retry-After the pause would be longer than the deadline: no retry."""
        monkeypatch.setattr(chat, 'BACKOFF', 10 * LONG)

    async def after(self, value: str, *, retries: int = 1) -> tuple[ScriptedCloud, Heard]:
        busy = Script([b'{}'], status=429, headers={'retry-after': value})
        clock = VirtualClock(wall=WALL + 0.9)
        async with talking_to(busy, answer('Hello'), clock=clock, retries=retries) as (cloud, client):
            return cloud, await listen(client)

    @pytest.mark.usefixtures('never_by_itself')
    @pytest.mark.parametrize(
        'value', ['0', '0.05', '-3', formatdate(WALL + 1, usegmt=True), formatdate(WALL - 86400, usegmt=True)],
        ids=['zero', 'fraction', 'negative', 'date-in-a-moment', 'date-in-the-past'],
    )
    async def test_the_time_the_server_asks_for_is_taken(self, value: str) -> None:
        cloud, heard = await self.after(value)
        assert (heard.pieces, heard.error, len(cloud.requests)) == (['Hello'], None, 2)

    async def test_the_time_is_really_waited(self) -> None:
        async with talking_to(
            Script([b'{}'], status=503, headers={'retry-after': '0.4'}), answer('Hello'),
        ) as (_, client):
            heard = await listen(client)
        assert heard.report.ttft >= 0.39
        assert heard.report.attempts == 2

    @pytest.mark.parametrize(
        'value', ['21', '3600', '99999999999999999999', '1e300', formatdate(WALL + 86400, usegmt=True)],
    )
    async def test_an_absurd_time_is_not_waited_for(self, value: str) -> None:
        with anyio.fail_after(2):
            cloud, heard = await self.after(value, retries=3)
        assert (heard.pieces, len(cloud.requests), heard.report.attempts) == ([], 1, 1)
        assert isinstance(heard.error, L2Refused)
        assert heard.error.status == 429
        assert heard.error.retry_after is not None
        assert heard.error.retry_after > LONG

    @pytest.mark.parametrize('value', ['soon', '', 'nan', 'inf', 'Sun, 06 Nov 99999999999999999999 08:49:37 GMT'])
    async def test_an_unreadable_time_is_as_good_as_none(self, value: str) -> None:
        cloud, heard = await self.after(value)
        assert (heard.pieces, heard.error, len(cloud.requests)) == (['Hello'], None, 2)


class TestKey:
    async def test_it_is_in_the_authorization_header_and_nowhere_else(self) -> None:
        async with talking_to(answer('Hello'), key=KEY) as (cloud, client):
            await listen(client)
        headers = dict(cloud.headers[0])
        assert headers.pop('Authorization') == f'Bearer {KEY}'
        assert KEY not in str(headers)
        assert KEY not in str(cloud.requests)
        assert KEY not in repr(client)

    async def test_without_a_key_there_is_no_such_header(self) -> None:
        async with talking_to(answer('Hello')) as (cloud, client):
            await listen(client)
        assert 'authorization' not in {name.lower() for name in cloud.headers[0]}

    @pytest.mark.parametrize(
        'script',
        [
            pytest.param(Script([f'{{"error": "Incorrect key: {KEY}"}}'.encode()], status=401), id='refusal'),
            pytest.param(Script([b'x' * (200 - 13) + KEY.encode()], status=400), id='cut-key'),
            pytest.param(sse({'error': {'message': f'Incorrect key: {KEY}'}}), id='in-the-stream'),
            pytest.param(sse(f'Incorrect key: {KEY}'), id='no-json'),
            pytest.param(Script([DROP]), id='drop'),
        ],
    )
    async def test_no_error_repeats_it_even_if_the_server_does(
        self, script: Script | bytes, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.DEBUG):
            heard = await heard_of(script, key=KEY, retries=0)
        assert heard.error is not None
        for text in (str(heard.error), repr(heard.error), repr(heard.report), caplog.text):
            assert KEY not in text
            assert KEY[:10] not in text


class TestBreaker:
    COOLDOWN = 15.0

    async def broken(self, client: ChatClient, failures: int = 2) -> None:
        for _ in range(failures):
            assert (await listen(client)).error is not None
        assert client.breaker.state == 'open'

    async def test_open_it_leaves_the_endpoint_alone(self, clock: VirtualClock) -> None:
        script = Script([b'{}'], status=500)
        async with talking_to(script, clock=clock, breaker_failures=2, retries=0) as (cloud, client):
            await self.broken(client)
            heard = await listen(client)
        assert isinstance(heard.error, BreakerOpen)
        assert (heard.report.attempts, len(cloud.requests)) == (0, 2)

    @pytest.mark.parametrize(
        'script',
        [
            pytest.param(Script([DROP]), id='drop'),
            pytest.param(Script([sse(chunk('Hel')), DROP]), id='cut'),
            pytest.param(Script([STALL]), id='timeout'),
            pytest.param(sse('junk'), id='malformed'),
            pytest.param(Script([b'{}'], status=503), id='refusal'),
        ],
    )
    async def test_every_kind_of_failure_counts(self, script: Script | bytes) -> None:
        async with talking_to(script, breaker_failures=1, retries=0, first_token_timeout=0.15) as (_, client):
            await listen(client)
            assert client.breaker.state == 'open'

    async def test_a_retry_that_succeeds_is_no_failure(self) -> None:
        async with talking_to(Script([b'{}'], status=500), answer('Hello'), breaker_failures=1) as (_, client):
            await listen(client)
            assert client.breaker.state == 'closed'

    async def test_a_probe_that_succeeds_closes_it(self, clock: VirtualClock) -> None:
        bad = Script([b'{}'], status=500)
        async with talking_to(bad, bad, answer('Hello'), clock=clock, breaker_failures=2, retries=0) as (_, client):
            await self.broken(client)
            clock.jump_wall(1e6)
            assert isinstance((await listen(client)).error, BreakerOpen)
            clock.advance(self.COOLDOWN)
            assert client.breaker.state == 'half-open'
            assert (await listen(client)).pieces == ['Hello']
            assert client.breaker.state == 'closed'

    async def test_a_probe_that_fails_opens_it_again(self, clock: VirtualClock) -> None:
        script = Script([b'{}'], status=500)
        async with talking_to(script, clock=clock, breaker_failures=2, retries=0) as (cloud, client):
            await self.broken(client)
            clock.advance(self.COOLDOWN)
            assert isinstance((await listen(client)).error, L2Refused)
            assert isinstance((await listen(client)).error, BreakerOpen)
        assert len(cloud.requests) == 3

    async def test_one_probe_at_a_time_and_its_permit_back_when_it_is_cancelled(self, clock: VirtualClock) -> None:
        bad = Script([b'{}'], status=500)
        scripts = (bad, bad, Script([STALL]), answer('Hello'))
        async with talking_to(*scripts, clock=clock, breaker_failures=2, retries=0) as (cloud, client):
            await self.broken(client)
            clock.advance(self.COOLDOWN)
            probe = asyncio.create_task(listen(client))
            await until(lambda: len(cloud.requests) == 3)
            assert isinstance((await listen(client)).error, BreakerOpen)
            probe.cancel()
            with pytest.raises(asyncio.CancelledError):
                await probe
            assert client.breaker.state == 'half-open'
            assert (await listen(client)).pieces == ['Hello']
            assert client.breaker.state == 'closed'

    async def test_a_listener_that_leaves_early_counts_as_nothing(self, clock: VirtualClock) -> None:
        bad, long = Script([b'{}'], status=500), Script([sse(chunk('Hel')), STALL])
        scripts = (bad, long, bad)
        async with talking_to(*scripts, clock=clock, breaker_failures=2, retries=0) as (_, client):
            await listen(client)
            await first_piece(client, 'Hel')
            assert client.breaker.state == 'closed'
            await listen(client)
            assert client.breaker.state == 'open'

    @pytest.mark.parametrize(('status', 'state'), [(400, 'closed'), (422, 'closed'), (401, 'open'), (404, 'open')])
    async def test_a_refused_question_does_not_speak_against_the_endpoint(self, status: int, state: str) -> None:
        async with talking_to(Script([b'{}'], status=status), breaker_failures=1, retries=0) as (_, client):
            assert (await listen(client)).error is not None
            assert client.breaker.state == state


class TestCancellation:
    @pytest.mark.parametrize('steps', [[STALL], [sse(chunk('Hel')), STALL], [sse(chunk('', role='assistant')), STALL]])
    async def test_a_cancelled_task_closes_the_connection(self, steps: list[object]) -> None:
        async with talking_to(Script(steps)) as (cloud, client):
            task = asyncio.create_task(listen(client))
            await until(lambda: len(cloud.requests) == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: cloud.closed_early == 1)
            assert client.breaker.state == 'closed'

    async def test_a_listener_that_leaves_early_closes_the_connection(self) -> None:
        async with talking_to(Script([sse(chunk('Hel')), STALL])) as (cloud, client):
            await first_piece(client, 'Hel')
            await until(lambda: cloud.closed_early == 1)
            assert client.breaker.state == 'closed'

    async def test_a_listener_that_fails_closes_the_connection_with_its_own_error(self) -> None:
        async with talking_to(Script([sse(chunk('Hel')), STALL])) as (cloud, client):
            with pytest.raises(AssertionError, match='Hel'):
                await first_piece(client, 'something else')
            await until(lambda: cloud.closed_early == 1)
            assert client.breaker.state == 'closed'

    async def test_a_surrounding_deadline_is_not_taken_for_one_of_ours(self) -> None:
        async with talking_to(Script([STALL])) as (cloud, client):
            with anyio.move_on_after(0.1) as scope:
                await listen(client)
            assert scope.cancelled_caught
            await until(lambda: cloud.closed_early == 1)

    async def test_a_pause_before_a_retry_can_be_cancelled(self) -> None:
        busy = Script([b'{}'], status=429, headers={'retry-after': '10'})
        async with talking_to(busy) as (cloud, client):
            task = asyncio.create_task(listen(client))
            await until(lambda: len(cloud.requests) == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert len(cloud.requests) == 1

    async def test_the_next_request_is_served_after_a_cancelled_one(self) -> None:
        async with talking_to(Script([sse(chunk('Hel')), STALL]), answer('Hello')) as (_, client):
            await first_piece(client, 'Hel')
            assert (await listen(client)).pieces == ['Hello']


class TestConnections:
    @pytest.mark.parametrize('script', [answer('Hello'), sse(chunk('Hello')) + STOP], ids=['done', 'no-done'])
    async def test_one_connection_serves_one_request_after_the_other(self, script: bytes) -> None:
        async with talking_to(script) as (cloud, client):
            for _ in range(4):
                assert (await listen(client)).pieces == ['Hello']
        assert (len(cloud.requests), cloud.connections) == (4, 1)

    async def test_the_end_of_the_response_may_come_a_moment_after_done(self) -> None:
        async with talking_to(Script([answer('Hello'), 0.01])) as (cloud, client):
            for _ in range(3):
                assert (await listen(client)).pieces == ['Hello']
        assert cloud.connections == 1

    async def test_a_retry_after_a_refusal_uses_the_same_connection(self) -> None:
        async with talking_to(Script([b'{}'], status=500), answer('Hello')) as (cloud, client):
            assert (await listen(client)).pieces == ['Hello']
        assert (len(cloud.requests), cloud.connections) == (2, 1)
