"""The branches of the configuration tree that concern where answers come from: encoder, cache, knowledge, model."""
from __future__ import annotations

import json
import re
from dataclasses import dataclass

from pace_ros.settings import ConfigError, setting


@dataclass(frozen=True)
class Embedding:
    """The sentence encoder."""

    kind: str = setting('string', 'How the ONNX model takes text: string = it tokenises, token = tokenizer.json.',
                        choices=('string', 'token'), read_only=True)
    model: str = setting('', 'Path of the ONNX model; empty: the packaged model of that kind.', read_only=True)
    tokenizer: str = setting('', 'Path of tokenizer.json for kind token; empty: beside the model, '
                             'or the packaged one.', read_only=True)
    pooling: str = setting('mean', 'How token vectors become one sentence vector.', choices=('mean', 'cls'),
                           read_only=True)
    query_prefix: str = setting('', 'Put before every question, as some models ask for (e5: "query: ").',
                                read_only=True)
    passage_prefix: str = setting('', 'Put before every knowledge passage (e5: "passage: ").', read_only=True)


@dataclass(frozen=True)
class L0:
    """The semantic cache."""

    enabled: bool = setting(True, 'Look into the semantic cache.')
    capacity: int = setting(2000, 'Entries kept; beyond it the least used goes.', low=1, high=1_000_000, read_only=True)
    file: str = setting('', 'Cache file; empty: <data_dir>/l0.sqlite. "none" keeps the cache in memory only.',
                        read_only=True)
    save_period: float = setting(30.0, 'Time between background savings of how often answers were used.', low=1.0,
                                 high=86400.0)
    chunk_chars: int = setting(24, 'Size of the frames in which a cached answer is replayed.', low=1, high=1000)
    half_life: float = setting(86400.0, 'Time in which the weight of an old hit halves when choosing what to evict.',
                               low=1.0, high=1e9, read_only=True)


@dataclass(frozen=True)
class L1:
    """The knowledge base."""

    enabled: bool = setting(True, "Return the best entry's answer directly when it is close enough.")
    knowledge: tuple[str, ...] = setting((), 'Knowledge files or folders (.yaml .jsonl .csv .md); '
                                         'empty: the packaged showroom.', read_only=True)
    top_k: int = setting(4, 'Passages given to the language model.', low=1, high=32)
    margin: float = setting(0.0, 'Direct return only where the best entry is nearer than any other by this; 0: always.',
                            low=0.0, high=1.0)
    passage_floor: float = setting(0.4, 'Passages less similar to the question than this are not given.', low=0.0,
                                   high=1.0)


HEADER_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_-]*')
TAKEN_HEADERS = {'accept', 'authorization', 'connection', 'content-length', 'content-type', 'cookie', 'host',
                 'transfer-encoding'}  # they say something else
TAKEN_FIELDS = {'messages', 'model', 'stream', 'stream_options'}
STICKY = ('none', 'gateway', 'vllm-production-stack', 'sglang', 'llm-d', 'litellm', 'dynamo', 'custom')


@dataclass(frozen=True)
class L2:
    """The language model behind an OpenAI-compatible endpoint."""

    base_url: str = setting('', 'Base URL; empty: $PACE_L2_BASE_URL, else http://127.0.0.1:8077/v1 (local_llm).',
                            read_only=True)
    model: str = setting('', 'Model name; empty: $PACE_L2_MODEL, else "local".', read_only=True)
    extra_body: str = setting('{}', 'JSON object merged into every request, '
                              'e.g. {"enable_thinking": false} where a provider can think less.')
    max_tokens: int = setting(160, 'Longest answer.', low=1, high=8192)
    temperature: float = setting(0.3, 'Sampling temperature.', low=0.0, high=2.0)
    history_turns: int = setting(4, 'Earlier turns of the conversation given to the model.', low=0, high=50)
    layout: str = setting('front', 'Where passages stand: front = in the system message; append = before the question '
                          'they are for, to stay there, and the history is cut in blocks of history_turns: a '
                          "conversation's prompt only grows, for servers that cache it.", choices=('front', 'append'))
    rag: bool = setting(True, 'Give the model the best knowledge passages.')
    persona: bool = setting(True, 'Give the model the persona.')
    persona_file: str = setting('', 'Persona by locale (YAML); empty: the packaged one.', read_only=True)
    tools_file: str = setting('', 'Tools the model may call (YAML, see docs/tools.md); empty: none.', read_only=True)
    tool_rounds: int = setting(3, 'Rounds of tool calls in one turn; then the model is to answer without.', low=0,
                               high=10)
    connect_timeout: float = setting(2.0, 'Deadline for the connection.', low=0.05, high=60.0)
    first_token_timeout: float = setting(8.0, 'Deadline for the first informative token, counted from the request.',
                                         low=0.05, high=120.0)
    inter_token_timeout: float = setting(4.0, 'Longest silence between two tokens.', low=0.05, high=60.0)
    total_timeout: float = setting(40.0, 'Deadline for the whole answer, retries included.', low=0.1, high=600.0)
    retries: int = setting(1, 'Further attempts before the first token.', low=0, high=5)
    replay: str = setting('', 'Answer from the L2 traffic in this bag, at its own pace, instead of from the endpoint; '
                          'empty: do not.', read_only=True)
    sticky: str = setting('none', 'How the endpoint is told which conversation a request belongs to, so that it is '
                          'answered where its prompt is cached; custom: in sticky_header or sticky_field.',
                          choices=STICKY)
    sticky_header: str = setting('', 'Header that carries the conversation (sticky custom).')
    sticky_field: str = setting('', 'Field of the body that carries the conversation, e.g. metadata.session_id '
                                '(sticky custom).')
    breaker_failures: int = setting(3, 'Failures in a row that open the circuit breaker.', low=1, high=100,
                                    read_only=True)
    breaker_cooldown: float = setting(15.0, 'Time an open breaker waits before it lets one probe through.', low=0.1,
                                      high=3600.0, read_only=True)


@dataclass(frozen=True)
class Hedge:
    """A second request when the first is late (off by default)."""

    enabled: bool = setting(False, 'Send a second request once the first token is later than usual; '
                            'the first to speak wins, the other is cancelled.')
    percentile: float = setting(95.0, 'Percentile of recent first-token times that counts as late.', low=1.0,
                                high=100.0)
    min_samples: int = setting(20, 'First-token times that must be known before any hedge.', low=2, high=100)
    max_share: float = setting(0.05, 'Largest share of the last 200 requests that may be hedged.', low=0.0, high=1.0)
    base_url: str = setting('', 'Second endpoint, its key in $PACE_L2_HEDGE_API_KEY; empty: the same one again.',
                            read_only=True)
    model: str = setting('', 'Model name of the second request; empty: that of the first.', read_only=True)
    sticky: str = setting('none', 'As l2.sticky, for a second endpoint of its own base_url.', choices=STICKY)


def check_custom_sticky(l2: L2) -> None:
    """For sticky custom, the names to send. Raises ConfigError where there is none, or one that cannot be sent."""
    header, field = l2.sticky_header, l2.sticky_field
    if not header and not field:
        raise ConfigError("With sticky 'custom' a name must be given: 'l2.sticky_header' or 'l2.sticky_field'.")
    if header and (not HEADER_NAME.fullmatch(header) or header.lower() in TAKEN_HEADERS):
        raise ConfigError(f"Parameter 'l2.sticky_header' must be the name of a header of its own, not {header!r}.")
    if field and (not all(field.split('.')) or field.split('.')[0] in TAKEN_FIELDS):
        raise ConfigError(f"Parameter 'l2.sticky_field' must be a field of its own, names joined by dots, "
                          f'not {field!r}.')


def _no_constant(name: str) -> None:
    """Python's parser takes NaN and Infinity, which no server does."""
    raise ValueError(f'{name} is no JSON')


def extra_body(l2: L2) -> dict[str, object]:
    """The further request fields of ``l2.extra_body``. Raises ConfigError unless it is a JSON object."""
    try:
        body = json.loads(l2.extra_body, parse_constant=_no_constant)
    except ValueError as error:
        raise ConfigError(f"Parameter 'l2.extra_body' is not JSON: {error}.") from error
    if not isinstance(body, dict):
        raise ConfigError(f"Parameter 'l2.extra_body' must be a JSON object, not {l2.extra_body!r}.")
    return body
