"""Reads the calls in tool markup that stands in the text of an answer."""
from __future__ import annotations

import ast
import contextlib
import html
import json
import re
from collections.abc import Collection, Iterator, Mapping

from pace_ros.llm.fit import fit
from pace_ros.llm.tools.call import ToolCall, is_object

_NAMES = ('name', 'tool', 'tool_name', 'function', 'action')
_ARGUMENTS = ('arguments', 'parameters', 'params', 'args', 'kwargs', 'input', 'tool_input', 'action_input')
_TOOLS = ('tool', 'tool_name', 'action')  # keys beside whose tool its arguments may stand
_WRAPPERS = ('tool_calls', 'function_call', 'tool_call', 'function')
_BESIDE_A_NAME = {'name', 'type', 'id', 'index'}  # keys of a call without arguments
_LEAD = r'<(?:[\w-]+:|｜\w+｜)?'  # the namespace of a tag
_LEAVE = r'</(?:[\w-]+:|｜\w+｜)?'
_FUNCTION = re.compile(
    rf'{_LEAD}(?:function|invoke|tool_call)\s*(?:=|\s+name=)\s*"?([\w.:-]+)"?\s*>(.*?)'
    rf'(?:{_LEAVE}(?:function|invoke|tool_call)>|\Z)', re.S
)
_PARAMETER = re.compile(
    rf'{_LEAD}param(?:eter)?\s*(?:=|\s+name=)\s*"?([\w.-]+)"?[^>]*>\n?(.*?)\n?'
    rf'(?:{_LEAVE}param(?:eter)?>|(?={_LEAD}param)|\Z)', re.S
)
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_ELEMENT = re.compile(r'<([\w-]+)>\s*(.*?)\s*</\1>', re.S)
_ARG_PAIR = re.compile(r'<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>', re.S)
_NAMED = re.compile(
    r'(?<![\w.-])(?:functions\.)?([A-Za-z_][\w.-]{0,63}?)(?::\d+)?\s{0,9}'
    r'(?:(?:\[CALL_ID\]\w{1,40})?\[ARGS\]|<[^>]{0,64}>|```(?:json)?|:|Action Input:)?\s{0,9}(?=\{)'
)
_GEMMA = re.compile(r'\bcall:([\w.-]+)\{(.*?)\}(?=<|\Z)', re.S)
_GEMMA_PAIR = re.compile(r'(\w+):(?:(<escape>|<\|"\|>)(.*?)\2|([^,{}<]+))', re.S)
_RECIPIENT = re.compile(r'to=(?:functions\.)?([\w.-]+)')
_BRACKET = re.compile(r'[\[{]')
_DECODER = json.JSONDecoder()
MOST_FAILED = 32  # brackets at which no JSON begins, after which no more is looked for


def read_calls(text: str, names: Collection[str]) -> tuple[ToolCall, ...]:
    """The calls in a piece of markup, in order, none where it is not well formed. ``names``: the tools there are.

    Understood: JSON objects with a name and arguments, alone or in lists; a name before a JSON object; XML-like
    functions with parameters; Gemma's pairs; Python calls with literal arguments.
    """
    if '&lt;' in text:
        text = html.unescape(text)
    readers = (
        (lambda text: _in_tags(text, names), True), (_in_xml, True), (_in_pairs, True),
        (lambda text: _in_json(text, names), True), (_in_gemma, True),
        (_after_name, False), (lambda text: _in_python(text, names), False),
    )
    for read, sure in readers:
        calls = tuple(
            ToolCall('', fit(name), fit(given), leaked=True) for name, given in read(text) if sure or name in names
        )
        if calls:
            return calls
    return ()


def is_call(value: object, names: Collection[str]) -> bool:
    """Whether a JSON value is a call, or a list of calls."""
    return bool(list(_calls_in(value, names)))


def _in_xml(text: str) -> Iterator[tuple[str, str]]:
    for name, body in _FUNCTION.findall(text):
        parameters = {key: _literal(value) for key, value in _PARAMETER.findall(body)}
        if parameters or not body.strip():
            yield name, json.dumps(parameters, ensure_ascii=False)
        elif body.strip().startswith('{'):
            yield name, body.strip()


def _in_tags(text: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Tags that have the name of a tool, with arguments as attributes, as tags within, or as a JSON object."""
    for match in re.finditer(rf'<({"|".join(map(re.escape, names)) or "(?!)"})(\s[^<>]*?)?(/?)>', text):
        name, attributes, empty = match.groups()
        body = '' if empty else text[match.end():].partition(f'</{name}>')[0].strip()
        given = {key: _literal(value) for key, value in _ATTRIBUTE.findall(attributes or '')}
        given |= {key: _literal(value) for key, value in _ELEMENT.findall(body)}
        yield name, body if body.startswith('{') else json.dumps(given, ensure_ascii=False)


def _in_pairs(text: str) -> Iterator[tuple[str, str]]:
    pairs = _ARG_PAIR.findall(text)
    name = re.search(r'[A-Za-z_][\w.-]*', re.sub(r'<\|?[\w/|]*>?', ' ', text.split('<arg_key>', 1)[0]))
    if pairs and name:
        yield name.group(), json.dumps({key.strip(): _literal(value) for key, value in pairs}, ensure_ascii=False)


def _in_json(text: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """All calls among the JSON values that begin at a bracket."""
    position = failed = 0
    while failed < MOST_FAILED and (match := _BRACKET.search(text, position)):
        try:
            value, position = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            position, failed = match.end(), failed + 1
            continue
        yield from _calls_in(value, names)


def _calls_in(value: object, names: Collection[str]) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for each in value:
            yield from _calls_in(each, names)
    elif isinstance(value, dict):
        wrapped = next((value[key] for key in _WRAPPERS if isinstance(value.get(key), list | dict)), None)
        call = _call_in(value, names)
        if wrapped is not None:
            yield from _calls_in(wrapped, names)
        elif call is not None:
            yield call


def _call_in(value: Mapping[str, object], names: Collection[str]) -> tuple[str, str] | None:
    """The call in an object: in words that a row of data may have, too, only that of a tool that is there."""
    for name, given in value.items():
        if len(value) == 1 and name in names and isinstance(given, dict):
            return name, json.dumps(given, ensure_ascii=False)
    name = next((each for key in _NAMES if isinstance(each := value.get(key), str)), '')
    given = next((each for key in _ARGUMENTS if isinstance(each := value.get(key), dict | str)), None)
    if name and isinstance(given, dict):
        return name, json.dumps(given, ensure_ascii=False)
    if name and isinstance(given, str) and (name in names or is_object(given)):
        return name, given
    if name not in names:
        return None
    if _BESIDE_A_NAME.issuperset(value):
        return name, '{}'
    if all(value.get(key) != name for key in _TOOLS):
        return None
    beside = {key: each for key, each in value.items() if each != name or key not in _TOOLS}
    return name, json.dumps(beside, ensure_ascii=False)


def _in_gemma(text: str) -> Iterator[tuple[str, str]]:
    for name, body in _GEMMA.findall(text):
        arguments = {key: given if quote else _literal(bare) for key, quote, given, bare in _GEMMA_PAIR.findall(body)}
        yield name, json.dumps(arguments, ensure_ascii=False)


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


def _in_python(text: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Calls as Python, or objects as Python writes them."""
    code = re.sub(r'</?[|｜]?\w+[|｜]?>|```\w*|\[/?\w*TOOL\w*\]', '', text).strip('` \n')
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for statement in body:
        if isinstance(statement, ast.Expr):
            value = statement.value
            for each in value.elts if isinstance(value, ast.List) else [value]:
                yield from _python_call(each)
                if isinstance(each, ast.Dict):
                    with contextlib.suppress(ValueError, TypeError):
                        yield from _calls_in(ast.literal_eval(each), names)


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
    whole = node.args[0] if len(node.args) == 1 and isinstance(node.args[0], ast.Dict) else None
    if isinstance(name, ast.Name) and (whole is not None or not node.args):
        try:
            arguments = ast.literal_eval(whole) if whole is not None else {}
            arguments |= {each.arg: ast.literal_eval(each.value) for each in node.keywords if each.arg}
            yield name.id, json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        except (ValueError, TypeError):
            return


def _literal(text: str) -> object:
    """A parameter's value: JSON where it is one, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()
