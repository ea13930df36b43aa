"""What a client asks for, checked, and cut to what a replica is sent: no client names a slot or a file."""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pace_ros.serving.fleet import Limits

NUMBER, WHOLE, OBJECT, LIST, BOOLEAN = 'a number', 'a whole number', 'an object', 'a list', 'true or false'
KINDS: Mapping[str, tuple[type, ...]] = {
    NUMBER: (int, float), WHOLE: (int,), OBJECT: (dict,), LIST: (list,), 'a string': (str,),
    'a string or a list': (str, list), 'a string or an object': (str, dict), BOOLEAN: (bool,),
}
SAMPLING: Mapping[str, str] = {  # llama.cpp's own
    **dict.fromkeys(('dynatemp_range', 'dynatemp_exponent', 'typical_p', 'top_n_sigma', 'repeat_penalty',
                     'xtc_probability', 'xtc_threshold', 'mirostat_tau', 'mirostat_eta', 'dry_multiplier', 'dry_base'),
                    NUMBER),
    **dict.fromkeys(('repeat_last_n', 'mirostat', 'min_keep', 'dry_allowed_length', 'dry_penalty_last_n'), WHOLE),
    'dry_sequence_breakers': LIST, 'samplers': LIST, 'ignore_eos': BOOLEAN, 'grammar': 'a string',
    'json_schema': OBJECT,
}
PASSED_ON: Mapping[str, str] = {
    'messages': LIST, 'temperature': NUMBER, 'top_p': NUMBER, 'top_k': WHOLE, 'min_p': NUMBER, 'seed': WHOLE,
    'stop': 'a string or a list', 'presence_penalty': NUMBER, 'frequency_penalty': NUMBER, 'response_format': OBJECT,
    'tools': LIST, 'tool_choice': 'a string or an object', 'parallel_tool_calls': BOOLEAN,
    'logit_bias': OBJECT, 'chat_template_kwargs': OBJECT, 'logprobs': BOOLEAN, 'top_logprobs': WHOLE, **SAMPLING,
}
NOT_SERVED: Mapping[str, str] = {  # would change the answer, and these servers do not know them
    'reasoning_effort': "set it in 'chat_template_kwargs' if the model's template knows it",
    'verbosity': 'say so in words', 'functions': "use 'tools'", 'function_call': "use 'tool_choice'",
    'audio': 'answers are text', 'web_search_options': "use 'tools'",
}
MOST_LOGPROBS = 20  # as with OpenAI
DEEPEST = 64  # levels of objects and lists: a schema of many more is not kept to, and one of very many kills a server
LONGEST_GRAMMAR = 16_384  # characters: what nests tens of thousands of brackets kills a server
ROLES = ('assistant', 'developer', 'system', 'tool', 'user')
CONTENT = (str, list, type(None))


class RequestError(ValueError):
    """A request that cannot be served as it is; the message names the field."""


class TooLarge(RequestError):
    """A request of more bytes than are taken."""


@dataclass(frozen=True)
class ChatRequest:
    """``body`` is what a replica is sent, ``fields`` all that the client sent."""

    body: Mapping[str, Any]
    fields: Mapping[str, Any]
    stream: bool
    include_usage: bool


def read_request(content: bytes, limits: Limits) -> ChatRequest:
    """A chat request from its bytes. Raises RequestError."""
    fields = _parsed(content)
    body = {name: fields[name] for name in PASSED_ON if fields.get(name) is not None}
    for name, value in body.items():
        _check(name, value, PASSED_ON[name])
    if len(body.get('grammar', '')) > LONGEST_GRAMMAR:
        raise RequestError(f"'grammar' may have at most {LONGEST_GRAMMAR} characters.")
    _check_served(fields)
    _check_messages(body.get('messages'))
    stream = fields.get('stream') or False
    _check('stream', stream, BOOLEAN)
    options = fields.get('stream_options') or {}
    _check('stream_options', options, OBJECT)
    if (answer := _answer(fields, limits)) is not None:
        body['max_tokens'] = answer
    return ChatRequest(body, fields, stream, bool(options.get('include_usage')))


def _parsed(content: bytes) -> dict[str, Any]:
    """What can be sent on as it is: no lone surrogates, no NaN."""
    try:
        fields = json.loads(content)
        json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise RequestError(f'The body is no JSON: {" ".join(str(error).split())}.') from None
    if not isinstance(fields, dict):
        raise RequestError('The body must be a JSON object.')
    if _deeper(fields, DEEPEST):
        raise RequestError(f'The body may have at most {DEEPEST} objects and lists within each other.')
    return fields


def _deeper(value: object, most: int) -> bool:
    """Whether more objects and lists than that are within each other."""
    level = [value]
    for _ in range(most):
        level = [part for each in level if isinstance(each, dict | list)
                 for part in (each.values() if isinstance(each, dict) else each)]
    return any(isinstance(each, dict | list) for each in level)


def _check(name: str, value: object, kind: str) -> None:
    boolean = isinstance(value, bool)
    if not isinstance(value, KINDS[kind]) or (boolean and bool not in KINDS[kind]):
        raise RequestError(f"'{name}' must be {kind}, not {_shown(value)}.")


def _check_served(fields: Mapping[str, Any]) -> None:
    """What would be answered otherwise than asked."""
    for name, instead in NOT_SERVED.items():
        if fields.get(name) is not None:
            raise RequestError(f"'{name}' is not served here: {instead}.")
    if fields.get('n', 1) not in (None, 1):
        raise RequestError(f"'n' must be 1, not {_shown(fields['n'])}.")
    if not 0 <= (fields.get('top_logprobs') or 0) <= MOST_LOGPROBS:
        raise RequestError(f"'top_logprobs' must be from 0 to {MOST_LOGPROBS}, not {_shown(fields['top_logprobs'])}.")


def _check_messages(messages: object) -> None:
    if not isinstance(messages, list) or not messages:
        raise RequestError("'messages' must be a list that is not empty.")
    for number, each in enumerate(messages):
        if not isinstance(each, dict) or each.get('role') not in ROLES:
            raise RequestError(f"'messages[{number}]' must be an object with a role of {', '.join(ROLES)}.")
        if not isinstance(each.get('content'), CONTENT):
            raise RequestError(f"'messages[{number}].content' must be a string, a list or null.")


def _answer(fields: Mapping[str, Any], limits: Limits) -> int | None:
    """Tokens that it may be answered with, None where that is left to the gateway."""
    for name in ('max_completion_tokens', 'max_tokens'):
        asked = fields.get(name)
        if asked is None:
            continue
        if not isinstance(asked, int) or isinstance(asked, bool) or asked < 1:
            raise RequestError(f"'{name}' must be a whole number of at least 1, not {_shown(asked)}.")
        return min(asked, limits.answer)
    return None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f'{text[:60]}...'
