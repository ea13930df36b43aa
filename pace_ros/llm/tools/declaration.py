"""The file that declares the tools of the language model."""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml

from pace_ros.llm.redaction import SHORTEST
from pace_ros.llm.tools.arguments import ArgumentCheck
from pace_ros.llm.tools.fields import Fields, ToolsError
from pace_ros.llm.tools.http_tool import HttpRequest
from pace_ros.llm.tools.template import places
from pace_ros.llm.tools.tool import ToolSpec
from pace_ros.loopback import LOOPBACK
from pace_ros.urls import names_user, shown_url, split_url

Value = TypeVar('Value')
MOST_TOOLS = 32
_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_-]{0,63}')
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_QUERY = {'type': 'object', 'properties': {'query': {'type': 'string', 'description': 'What to look for.'}},
          'required': ['query'], 'additionalProperties': False}
_COMMON = ('name', 'kind', 'description', 'parameters', 'timeout', 'live', 'effects')
_HTTP = (*_COMMON, 'method', 'url', 'query', 'body', 'headers', 'secret', 'answer', 'max_bytes', 'allow_plain_http')
_KNOWLEDGE = ('name', 'kind', 'description', 'timeout', 'top_k', 'floor')


@dataclass(frozen=True)
class KnowledgeSearch:
    """How much a search of the knowledge base may give."""

    top_k: int
    floor: float


@dataclass(frozen=True)
class Declared:
    """One tool: what all have, and what its kind needs."""

    spec: ToolSpec
    kind: HttpRequest | KnowledgeSearch


@dataclass(frozen=True)
class Declaration:
    """``turn_timeout`` is how long all tools of one turn may take together (s)."""

    tools: tuple[Declared, ...]
    turn_timeout: float


def read_tools(path: Path, environment: Mapping[str, str]) -> Declaration:
    """Read a tools file; the secrets come from ``environment``. Raises ToolsError naming file and field."""
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ToolsError(f'{path} cannot be read: {error}.') from error
    fields = Fields(str(path), content, ('tools', 'turn_timeout'))
    listed = fields.get('tools', list)
    if not 1 <= len(listed) <= MOST_TOOLS:
        raise fields.wrong('tools', f'must list from 1 to {MOST_TOOLS} tools, not {len(listed)}')
    tools = tuple(_read(f'{path}, tool {number}', each, environment) for number, each in enumerate(listed, start=1))
    names = [each.spec.name for each in tools]
    for name in names:
        if names.count(name) > 1:
            raise fields.wrong('tools', f'has two tools named {name!r}')
    return Declaration(tools, fields.number('turn_timeout', 6.0, 0.1, 60.0))


def _read(where: str, given: object, environment: Mapping[str, str]) -> Declared:
    kinds: dict[object, tuple[Callable[[Fields, Mapping[str, str]], Declared], tuple[str, ...]]] = {
        'http': (_http, _HTTP), 'knowledge': (_knowledge, _KNOWLEDGE),
    }
    if not isinstance(given, dict):
        raise ToolsError(f'{where} must be a mapping.')
    if isinstance(given.get('name'), str):
        where = f'{where} ({given["name"]})'
    if not isinstance(given.get('kind'), str) or given['kind'] not in kinds:
        raise ToolsError(f"{where}, field 'kind' must be http or knowledge, not {given.get('kind')!r}.")
    read, known = kinds[given['kind']]
    return read(Fields(where, given, known), environment)


def _spec(
    fields: Fields, parameters: Mapping[str, object], *, timeout: float, live: bool, effects: bool
) -> ToolSpec:
    name = fields.get('name', str)
    if not _NAME.fullmatch(name):
        raise fields.wrong('name', f'must be letters, digits, _ and -, not {name!r}')
    description = _sendable(fields, 'description', fields.get('description', str)).strip()
    if not description:
        raise fields.wrong('description', 'must not be empty: the model knows the tool by it')
    try:
        check = ArgumentCheck(_sendable(fields, 'parameters', parameters))
    except ValueError as error:
        raise fields.wrong('parameters', str(error)) from error
    if effects and not live:
        raise fields.wrong('live', "must be true with 'effects': an answer that tells of what was done is never cached")
    return ToolSpec(
        name, description, parameters, check,
        timeout=fields.number('timeout', timeout, 0.05, 60.0), live=live, effects=effects,
    )


def _sendable(fields: Fields, name: str, value: Value) -> Value:
    """The value, if it can be sent as JSON."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise fields.wrong(name, f'cannot be sent as JSON: {error}') from error
    return value


def _knowledge(fields: Fields, _environment: Mapping[str, str]) -> Declared:
    spec = _spec(fields, _QUERY, timeout=2.0, live=False, effects=False)
    top_k, floor = fields.number('top_k', 4, 1, 20), fields.number('floor', 0.3, 0.0, 1.0)
    return Declared(spec, KnowledgeSearch(int(top_k), floor))


def _http(fields: Fields, environment: Mapping[str, str]) -> Declared:
    method = fields.get('method', str, 'GET').upper()
    if method not in ('GET', 'POST', 'PUT', 'PATCH', 'DELETE'):
        raise fields.wrong('method', f'must be GET, POST, PUT, PATCH or DELETE, not {method!r}')
    spec = _spec(
        fields, fields.get('parameters', dict), timeout=3.0, live=fields.get('live', bool, True),
        effects=fields.get('effects', bool, method != 'GET'),
    )
    header, prefix, secret = _secret(fields, environment)
    request = HttpRequest(
        url=_url(fields), method=method, query=_sendable(fields, 'query', fields.get('query', dict, {})),
        body=_sendable(fields, 'body', fields.get('body', dict)) if 'body' in fields else None,
        headers=_headers(fields),
        secret_header=header, secret_prefix=prefix, secret=secret, answer=fields.get('answer', str, ''),
        max_bytes=int(fields.number('max_bytes', 65536, 1, 1 << 20)),
    )
    given = spec.parameters.get('properties', {})
    if 'locale' in given:  # type: ignore[operator]
        raise fields.wrong('parameters', "must not have 'locale', which is always the visitor's")
    if '?' in request.url and request.query:
        raise fields.wrong('url', "must not have a ? where there is a 'query'")
    known = {'locale', *given}  # type: ignore[misc]
    for part in ('url', 'query', 'body'):
        for place in places(getattr(request, part)):
            if place not in known:
                raise fields.wrong(part, f'takes {{{place}}}, which is not among the parameters')
    return Declared(spec, request)


def _url(fields: Fields) -> str:
    url = fields.get('url', str)
    if names_user(url):
        raise fields.wrong('url', "must not hold a user or password: see field 'secret'")
    try:
        parts = split_url(url)
    except ValueError as error:
        raise fields.wrong('url', f'{error}, not {shown_url(url)}') from None
    if '{' in parts.netloc or '{' in url.split('://')[0]:
        raise fields.wrong('url', 'must not take its server from an argument')
    if parts.scheme == 'http' and parts.hostname not in LOOPBACK and not fields.get('allow_plain_http', bool, False):
        raise fields.wrong(
            'url', f"must be https outside this machine, not {shown_url(url)}, unless 'allow_plain_http' is set")
    return str(url)


def _headers(fields: Fields) -> dict[str, str]:
    headers = {}
    for name, value in fields.get('headers', dict, {}).items():
        if not isinstance(name, str) or not _HEADER.fullmatch(name):
            raise fields.wrong('headers', f'has what is no name of a header: {name!r}')
        if not isinstance(value, str | int | float) or not str(value).isascii() or not str(value).isprintable():
            raise fields.wrong('headers', f'must give {name} printable ASCII, not {value!r}')
        headers[name] = str(value)
    return headers


def _secret(fields: Fields, environment: Mapping[str, str]) -> tuple[str, str, str]:
    """The header with the key, what stands before the key, and the key, of which the file names the variable only."""
    if 'secret' not in fields:
        return '', '', ''
    inner = fields.inner('secret', ('header', 'env', 'prefix'))
    header, variable, prefix = inner.get('header', str), inner.get('env', str), inner.get('prefix', str, '')
    if not _HEADER.fullmatch(header):
        raise inner.wrong('header', f'is no name of a header: {header!r}')
    value = environment.get(variable, '').strip()
    if not value:
        raise inner.wrong('env', f'names {variable}, which is not set in the environment')
    if not (prefix + value).isascii() or not (prefix + value).isprintable():
        raise inner.wrong('env', f'names {variable}, which must be printable ASCII')
    if len(value) < SHORTEST:
        raise inner.wrong('env', f'names {variable}, which is too short to be kept secret: under {SHORTEST} characters')
    return header, prefix, value
