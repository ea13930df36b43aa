"""Fills a tool's URL, query and body with the arguments of a call."""
from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, urlsplit

from pace_ros.llm.tools.tool import ToolFailed

_PLACE = re.compile(r'\{(\w+)\}')


def places(template: object) -> Iterator[str]:
    """The names of the arguments that a template takes."""
    if isinstance(template, str):
        yield from _PLACE.findall(template)
    elif isinstance(template, Mapping):
        for value in template.values():
            yield from places(value)
    elif isinstance(template, list):
        for value in template:
            yield from places(value)


def filled_url(template: str, arguments: Mapping[str, object]) -> str:
    """The URL with every argument escaped, so that none can lead to another path. Raises ToolFailed for one that is
    empty or missing, or would.
    """
    def escaped(match: re.Match[str]) -> str:
        text = _text(arguments.get(match.group(1), ''))
        if not text.strip():
            raise ToolFailed(f'argument {match.group(1)!r} must not be empty')
        return quote(text, safe='')

    url = _PLACE.sub(escaped, template)
    if any(segment in ('.', '..') for segment in urlsplit(url).path.split('/')):
        raise ToolFailed('an argument must not be . or ..')
    return url


def filled(template: object, arguments: Mapping[str, object]) -> object:
    """A query or a body with the arguments in it: a place that is the whole text takes the value as it is, and a field
    whose argument is not given is left out.
    """
    if isinstance(template, Mapping):
        return {key: filled(value, arguments) for key, value in template.items() if _given(value, arguments)}
    if isinstance(template, list):
        return [filled(value, arguments) for value in template if _given(value, arguments)]
    if not isinstance(template, str):
        return template
    alone = _PLACE.fullmatch(template)
    if alone:
        return arguments[alone.group(1)]
    return _PLACE.sub(lambda match: _text(arguments[match.group(1)]), template)


def _given(template: object, arguments: Mapping[str, object]) -> bool:
    return not isinstance(template, str) or all(name in arguments for name in _PLACE.findall(template))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
