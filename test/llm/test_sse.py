from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pace_ros.llm import sse
from pace_ros.llm.sse import SseOverflow, SseParser

FRAGMENTS = [
    b'data', b'data:', b'data: ', b'data: [DONE]', b'data: {"a": 1}', b'event: x', b'id: 7', b'retry: 10', b': ping',
    b':', b' ', b'x', b'\n', b'\r', b'\r\n', b'\n\n', b'\r\r', b'\r\n\r\n', b'\xef\xbb\xbf', b'\x1c', b'\x0b', b'\x00',
    b'\xff', b'\xe4\xbd', '你'.encode(), '😀'.encode(), '\u2028'.encode(), '\u2029'.encode(), '\u0085'.encode(),
]
STREAMS = st.lists(st.sampled_from(FRAGMENTS), max_size=24).map(b''.join) | st.binary(max_size=60)


def parsed(*chunks: bytes) -> list[str]:
    parser = SseParser()
    payloads = [payload for chunk in chunks for payload in parser.feed(chunk)]
    return payloads + parser.flush()


def expected(stream: bytes) -> list[str]:
    """The standard's algorithm on the whole text, except that the end of the stream ends the last event too."""
    text = stream.decode('utf-8', errors='replace').removeprefix('\ufeff')
    payloads: list[str] = []
    event: list[str] = []
    for line in [*text.replace('\r\n', '\n').replace('\r', '\n').split('\n'), '']:
        field, _, value = line.partition(':')
        if line == '' and event:
            payloads.append('\n'.join(event))
            event = []
        elif field == 'data':
            event.append(value[1:] if value.startswith(' ') else value)
    return payloads


@settings(deadline=None, max_examples=200)
@given(STREAMS)
def test_payloads_are_those_of_the_standard(stream: bytes) -> None:
    assert parsed(stream) == expected(stream)


@settings(deadline=None, max_examples=300)
@given(STREAMS, st.lists(st.integers(0, 200), max_size=12))
@example(b'\n\xef\xbb\xbfdata: x\n\n', [1])
@example(b'\xef\xbb\xbfdata: x\n\n', [1, 2])
@example(b'data: x\r\n\r\ndata: y\r\n\r\n', [8, 9, 10])
def test_any_split_gives_the_same_payloads(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    assert parsed(*(stream[a:b] for a, b in itertools.pairwise(edges))) == expected(stream)


@settings(deadline=None)
@given(STREAMS)
@example(b':\n\xef\xbb\xbfdata: x\n\n')
def test_byte_by_byte_gives_the_same_payloads(stream: bytes) -> None:
    assert parsed(*(bytes([byte]) for byte in stream)) == expected(stream)


@pytest.mark.parametrize('separator', ['\u2028', '\u2029', '\u0085', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e'])
def test_only_cr_and_lf_end_a_line(separator: str) -> None:
    payload = json.dumps({'content': '_'}).replace('_', f'before{separator}after')
    assert parsed(f'data: {payload}\n\n'.encode()) == [payload]


@pytest.mark.parametrize('text', ['é', '你好', '😀', 'a\u2028b', '👩\u200d🚀'])
def test_multibyte_characters_may_be_cut_at_every_byte(text: str) -> None:
    stream = f'data: {text}\n\n'.encode()
    for cut in range(len(stream) + 1):
        assert parsed(stream[:cut], stream[cut:]) == [text]
    for one, two in itertools.combinations(range(len(stream) + 1), 2):
        assert parsed(stream[:one], stream[one:two], stream[two:]) == [text]


@pytest.mark.parametrize('end', ['\n', '\r', '\r\n'])
def test_every_line_end_cut_anywhere(end: str) -> None:
    stream = f': hello{end}data: one{end}{end}data: two{end}data: more{end}{end}'.encode()
    for cut in range(len(stream) + 1):
        assert parsed(stream[:cut], stream[cut:]) == ['one', 'two\nmore']


def test_line_ends_may_be_mixed() -> None:
    assert parsed(b'data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\r') == ['a\nb\nc', 'd']


def test_cr_and_lf_in_different_chunks_are_one_line_end() -> None:
    parser = SseParser()
    payloads = [payload for chunk in (b'data: a\r', b'\ndata: b\r', b'\n\r', b'\n') for payload in parser.feed(chunk)]
    assert payloads + parser.flush() == ['a\nb']


@pytest.mark.parametrize('ending', [b'\n\n', b'\r\n\r\n', b'\r\r', b'\n\r'])
def test_an_event_is_given_with_the_chunk_that_completes_it(ending: bytes) -> None:
    assert SseParser().feed(b'data: token' + ending) == ['token']


def test_an_event_that_is_not_complete_is_held() -> None:
    parser = SseParser()
    assert parser.feed(b'data: a\n') == []
    assert parser.feed(b'data: b') == []
    assert parser.feed(b'\n') == []
    assert parser.feed(b'\n') == ['a\nb']


def test_comments_say_nothing() -> None:
    assert parsed(b': OPENROUTER PROCESSING\n\n:\n:data: no\n\ndata: yes\n: within\ndata: too\n\n') == ['yes\ntoo']


@pytest.mark.parametrize(
    ('line', 'payload'),
    [('data:x', 'x'), ('data: x', 'x'), ('data:  x', ' x'), ('data:\tx', '\tx'), ('data: a: b', 'a: b'), ('data:', ''),
     ('data', '')],
)
def test_one_space_after_the_colon_is_dropped(line: str, payload: str) -> None:
    assert parsed(f'{line}\n\n'.encode()) == [payload]


@pytest.mark.parametrize('line', ['event: ping', 'id: 1', 'retry: 3000', 'database: x', ' data: x', 'DATA: x', 'x'])
def test_other_fields_are_no_payload(line: str) -> None:
    assert parsed(f'{line}\n\n'.encode()) == []
    assert parsed(f'{line}\ndata: yes\n\n'.encode()) == ['yes']


def test_a_byte_order_mark_is_dropped_at_the_start_only() -> None:
    assert parsed(b'\xef\xbb\xbfdata: x\n\n') == ['x']
    assert parsed(b'data: \xef\xbb\xbfx\n\n') == ['\ufeffx']
    assert parsed(b'data: x\n\n\xef\xbb\xbfdata: y\n\n') == ['x']


@pytest.mark.parametrize('stream', [b'data: x', b'data: x\n', b'data: x\r', b'data: x\r\n', b'\xef\xbb\xbfdata: x'])
def test_the_end_of_the_stream_ends_the_last_event(stream: bytes) -> None:
    assert parsed(stream) == ['x']


def test_nothing_is_given_twice() -> None:
    parser = SseParser()
    assert parser.feed(b'data: x\n\ndata: y') == ['x']
    assert parser.flush() == ['y']
    assert parser.flush() == []


def test_an_empty_stream_has_no_payload() -> None:
    assert parsed() == parsed(b'') == parsed(b'\n\n\r\n') == []


def test_bad_utf8_is_replaced() -> None:
    assert parsed(b'data: a\xffb\xe4\xbd\n\n') == ['a\ufffdb\ufffd']


class TestOverflow:
    @pytest.fixture(autouse=True)
    def small_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sse, 'MAX_EVENT_BYTES', 100)

    def test_a_line_without_end(self) -> None:
        with pytest.raises(SseOverflow, match='100 bytes'):
            parsed(*[b'data: xxxx'] * 50)

    @pytest.mark.parametrize('line', [b'data: xxxx\n', b'data: \n', b'data:\n', b'data\n'])
    def test_an_event_of_lines_without_end(self, line: bytes) -> None:
        with pytest.raises(SseOverflow):
            parsed(*[line] * 1000)

    def test_many_small_events_and_comments_are_none(self) -> None:
        parser = SseParser()
        assert [payload for _ in range(200) for payload in parser.feed(b': ping\ndata: x\n\n')] == ['x'] * 200
