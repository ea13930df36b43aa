"""An answer cut into deltas, and the bytes that carry them."""
from __future__ import annotations

import functools
import itertools
import json
import re
from dataclasses import dataclass

from pace_ros.language import count_tokens

MODEL = 'simulated'
_HAN = '\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff'
_TOKEN = re.compile(rf'\s*(?:[{_HAN}]{{1,3}}[^\w\s]*|[^\s{_HAN}]+)|\s+')
_HEAD = f'{{"id":"chatcmpl-simulated","object":"chat.completion.chunk","created":0,"model":"{MODEL}","choices":['
_ROLE = '{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}'


@dataclass(frozen=True)
class Pieces:
    """``payloads`` are the bytes of each delta, ``tokens`` how many it has, ``text`` what they say together."""

    text: str
    payloads: tuple[bytes, ...]
    tokens: tuple[int, ...]


def deltas(text: str, most: int) -> tuple[str, ...]:
    """Cut a text into at most so many deltas of some Chinese characters or whole words; the first is the shortest
    there is, joined they are the text.
    """
    if most < 2:
        return (text,)
    tokens = _TOKEN.findall(text)
    first, rest = tokens[:1], tokens[1:]
    groups = min(len(rest), most - 1)
    cuts = [len(rest) * number // groups for number in range(groups + 1)] if groups > 0 else []
    return (*first, *(''.join(rest[begin:end]) for begin, end in itertools.pairwise(cuts)))


def limited(text: str, limit: int) -> str:
    """The beginning of a text that has at most so many tokens, its first delta at least."""
    if count_tokens(text) <= limit:
        return text
    said = ''
    for token in _TOKEN.findall(text):
        if said and count_tokens(said + token) > limit:
            break
        said += token
    return said


@functools.lru_cache(maxsize=8192)
def streamed(text: str, most: int) -> Pieces:
    """The server-sent events of an answer but for its end. The role comes with the first delta."""
    cut = deltas(text, most) or ('',)
    events = [f'data: {_HEAD}{{"index":0,"delta":{{"content":{_json(each)}}},"finish_reason":null}}]}}\n\n'
              for each in cut]
    events[0] = f'data: {_HEAD}{_ROLE}\n\n{events[0]}'
    return Pieces(text, tuple(event.encode() for event in events), tuple(max(1, count_tokens(each)) for each in cut))


def ending(finish: str, usage: tuple[int, int] | None) -> bytes:
    """The events that end a stream: why it ends, tokens in and out if asked for, [DONE]."""
    events = f'data: {_HEAD}{{"index":0,"delta":{{}},"finish_reason":"{finish}"}}]}}\n\n'
    if usage is not None:
        events += f'data: {_HEAD}],"usage":{_usage(*usage)}}}\n\n'
    return f'{events}data: [DONE]\n\n'.encode()


def whole(text: str, finish: str, usage: tuple[int, int]) -> bytes:
    """The body of an answer that is not streamed."""
    head = _HEAD.replace('.chunk', '')
    message = f'{{"role":"assistant","content":{_json(text)}}}'
    return f'{head}{{"index":0,"message":{message},"finish_reason":"{finish}"}}],"usage":{_usage(*usage)}}}'.encode()


def _usage(prompt: int, completion: int) -> str:
    return (f'{{"prompt_tokens":{prompt},"completion_tokens":{completion},'
            f'"total_tokens":{prompt + completion}}}')


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
