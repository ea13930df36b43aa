"""Reads the calls in tool markup that stands in the text of an answer."""
from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator

from pace_ros.llm.tools.call import ToolCall

_NAMES = ('name', 'tool', 'tool_name', 'function')
_ARGUMENTS = ('arguments', 'parameters', 'args', 'input', 'tool_input')
_FUNCTION = re.compile(
    r'<(?:function|invoke)\s*(?:=|\s+name=)\s*"?([\w.:-]+)"?\s*>(.*?)(?:</(?:function|invoke)>|\Z)', re.S
)
_PARAMETER = re.compile(
    r'<parameter\s*(?:=|\s+name=)\s*"?([\w.-]+)"?[^>]*>\n?(.*?)\n?(?:</parameter>|(?=<parameter)|\Z)', re.S
)
_ARG_PAIR = re.compile(r'<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>', re.S)
_NAMED = re.compile(
    r'(?<![\w.-])(?:functions\.)?([A-Za-z_][\w.-]{0,63}?)(?::\d+)?\s{0,9}(?:\[ARGS\]|<[^>]{0,64}>|```(?:json)?)?\s{0,9}(?=\{)'
)
_RECIPIENT = re.compile(r'to=(?:functions\.)?([\w.-]+)')
_DECODER = json.JSONDecoder()


def read_calls(text: str, names: Collection[str]) -> tuple[ToolCall, ...]:
    """The calls in a piece of markup, in order, none where it is not well formed. ``names``: the tools there are.

    Understood: JSON objects with a name and arguments, alone or in lists; a name before a JSON object; XML-like
    functions with parameters; Python calls with literal arguments.
    """
    for read, sure in ((_in_xml, True), (_in_pairs, True), (_in_json, True), (_after_name, False), (_in_python, False)):
        calls = tuple(ToolCall('', name, given, leaked=True) for name, given in read(text) if sure or name in names)
        if calls:
            return calls
    return ()


def is_call(value: object) -> bool:
    """Whether a JSON value is a call, or a list of calls."""
    return bool(list(_calls_in(value)))


def _in_xml(text: str) -> Iterator[tuple[str, str]]:
    for name, body in _FUNCTION.findall(text):
        parameters = {key: _literal(value) for key, value in _PARAMETER.findall(body)}
        if parameters or not body.strip():
            yield name, json.dumps(parameters, ensure_ascii=False)
        elif body.strip().startswith('{'):
            yield name, body.strip()


def _in_pairs(text: str) -> Iterator[tuple[str, str]]:
    pairs = _ARG_PAIR.findall(text)
    name = re.search(r'[A-Za-z_][\w.-]*', re.sub(r'<\|?[\w/|]*>?', ' ', text.split('<arg_key>', 1)[0]))
    if pairs and name:
        yield name.group(), json.dumps({key.strip(): _literal(value) for key, value in pairs}, ensure_ascii=False)


def _in_json(text: str) -> Iterator[tuple[str, str]]:
    """All calls among the JSON values that begin at a bracket."""
    position = 0
    while match := re.compile(r'[\[{]').search(text, position):
        try:
            value, position = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            position = match.end()
            continue
        yield from _calls_in(value)


def _calls_in(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for each in value:
            yield from _calls_in(each)
    if not isinstance(value, dict):
        return
    if isinstance(value.get('tool_calls'), list):
        yield from _calls_in(value['tool_calls'])
        return
    if isinstance(value.get('function'), dict):
        yield from _calls_in(value['function'])
        return
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), '')
    given = [value[key] for key in _ARGUMENTS if isinstance(value.get(key), dict | str)]
    if name and given:
        yield name, given[0] if isinstance(given[0], str) else json.dumps(given[0], ensure_ascii=False)


def _after_name(text: str) -> Iterator[tuple[str, str]]:
    """A name and then its arguments, as Mistral, Kimi, DeepSeek and Harmony write."""
    recipient = _RECIPIENT.search(text)
    begins = [(match.group(1), match.end()) for match in _NAMED.finditer(text)]
    if recipient:
        begins = [(recipient.group(1), text.find('{', recipient.end()))]
    for name, begin in begins:
        try:
            value, _ = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield name, json.dumps(value, ensure_ascii=False)


def _in_python(text: str) -> Iterator[tuple[str, str]]:
    code = re.sub(r'<\|[^|]*\|>|```\w*|\[/?\w*TOOL\w*\]', '', text).strip()
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for statement in body:
        if isinstance(statement, ast.Expr):
            value = statement.value
            for each in value.elts if isinstance(value, ast.List) else [value]:
                yield from _python_call(each)


def _python_call(node: ast.expr) -> Iterator[tuple[str, str]]:
    """``f(a=1)``, also as ``print(f(a=1))`` and ``f.call(a=1)``; anything but literals is no call."""
    if not isinstance(node, ast.Call):
        return
    name = node.func
    if isinstance(name, ast.Name) and name.id == 'print' and len(node.args) == 1:
        yield from _python_call(node.args[0])
        return
    if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name):
        name = name.value if name.attr == 'call' else ast.Name(name.attr)
    if isinstance(name, ast.Name) and not node.args:
        try:
            arguments = {each.arg: ast.literal_eval(each.value) for each in node.keywords if each.arg}
            yield name.id, json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        except (ValueError, TypeError):
            return


def _literal(text: str) -> object:
    """A parameter's value: JSON where it is one, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()
