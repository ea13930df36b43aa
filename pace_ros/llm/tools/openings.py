"""How tool calls begin in the text of an answer, one row for each way."""
from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from pace_ros.llm.tools.leaked_call import is_call
from pace_ros.llm.tools.markup import CALL, WAIT, Found, Kind, in_fence, in_header, in_square_brackets, in_tag
from pace_ros.llm.tools.partial import Partial, either, followed, one_of, sequence
from pace_ros.llm.tools.residue import looks_like_a_call

LONGEST_OBJECT = 8000  # characters of a JSON object that is waited for
_KEYS = (
    'name', 'tool', 'tool_name', 'function', 'arguments', 'parameters', 'type', 'tool_calls', 'id', 'index',
    'function_call', 'tool_call', 'tool_call_id', 'action', 'action_input',
)
_LITERALS = (
    'to=functions.', 'commentary to=', 'assistantcommentary to=', 'assistant to=functions.', 'functools[',
    'function call{', '✿FUNCTION✿', 'Action Input:', 'TOOL_CALL:',
)
_BLANKS = re.compile(r'\s{0,40}')
_WORD = re.compile(r'[A-Za-z_][\w.]{0,63}')
_KEYWORD = (_BLANKS, re.compile(r'[A-Za-z_]\w{0,63}'), re.compile(r'\s{0,4}'), '=', re.compile('[^=]'))
_IN_PYTHON = sequence('(', *_KEYWORD)
_AFTER_NAME = either(  # what says that a tool's name is meant as a call
    _IN_PYTHON, sequence('(', _BLANKS, ')'), sequence('(', _BLANKS, '{', _BLANKS, re.compile('["\'}]')),
    sequence('.call(', *_KEYWORD), sequence('[ARGS]'), sequence('[CALL_ID]'),
    sequence(re.compile(r'(?::\d{0,3})?\s{0,4}:?\s{0,4}'), re.compile(r'(?:<[^<>\s]{0,64}>?)?'), '{', _BLANKS,
             re.compile('["}]')),
    sequence(_BLANKS, 'Action Input:'),
)
_IN_TAG = r'[A-Za-z0-9_:.|｜▁/-]'
_TAG = Partial(
    re.compile(rf'(?:<|&lt;)(?P<name>{_IN_TAG}{{1,64}})(?!{_IN_TAG})\s{{0,8}}(?P<last>\S)'),
    re.compile(rf'&(?:l(?:t;?)?)?|(?:<|&lt;){_IN_TAG}{{0,64}}\s{{0,8}}'),
)
_SQUARE = Partial(re.compile(r'\[(?P<name>/?[A-Za-z_]{2,24})\]'), re.compile(r'\[/?[A-Za-z_]{0,24}'))
_HEADER = Partial(
    re.compile(r'<\|(?:start|channel)\|>(?:(?!<\|message\|>)[\s\S]){0,200}?(?:(?<![a-z])to=(?=[b-z])|<\|message\|>)'),
    re.compile(r'<\|(?:start|channel)\|>[\s\S]{0,200}'),
)
_FENCE = re.compile(r'```(?P<language>[\w+#-]{0,20})\s*')
_ACTION = re.compile(r'Action:\s*')
_ACTION_BEGUN = sequence('Action:').begun
_STRINGS = {'"': r'"(?:[^"\\]|\\.)*(?:"|\Z)', "'": r'"(?:[^"\\]|\\.)*(?:"|\Z)|\'(?:[^\'\\]|\\.)*(?:\'|\Z)'}
_BRACKETS = {quote: re.compile(pattern + r'|[{}\[\]]', re.DOTALL) for quote, pattern in _STRINGS.items()}


@dataclass(frozen=True)
class Opening:
    """``shown`` says for readers how it looks; ``read`` what begins at the beginning of a text that may be ``final``:
    None where it is nothing of this kind.
    """

    shown: str
    read: Callable[[str, bool], Found | None]


class Openings:
    """All ways in which a call may begin, for an answer that may call the tools of these ``names``."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._key = _key(names)
        literals = [each for each in _LITERALS if names or not each[0].isalpha()]  # without tools "to" is a word
        tools, empty = one_of(names), sequence('(', _BLANKS, ')')
        with_keyword = followed(sequence(_WORD), _IN_PYTHON)
        in_list = followed(sequence('[', _BLANKS), either(with_keyword, followed(tools, empty)))
        code = followed(one_of(('', 'print(')), either(with_keyword, followed(tools, empty)))
        called = followed(followed(one_of(('', '`', 'functions.', 'default_api.')), tools), _AFTER_NAME)
        in_pairs = followed(sequence('call:'), followed(tools, sequence('{')))
        bracketed = Opening('', _pattern(followed(tools, sequence('['))))
        fence = Opening('fences named `tool_code` and the like, or with a call at their beginning', self._fence)
        action = Opening('`Action:` before a call', self._action)
        calls = (
            Opening(', '.join(f'`{each}`' for each in _LITERALS), _pattern(either(*map(sequence, literals)))),
            Opening('JSON objects, alone or in lists, with a name and arguments', self._object),
            Opening('Python in square brackets: `[name(x=...)]`', _pattern(in_list)),
            Opening('the name of a tool that is there, with arguments: `name(x=...)`, `name: {"x": ...}`, `name[ARGS]`',
                    _pattern(either(called, in_pairs))),
            Opening('a tag with the name of a tool that is there: `<name>`', self._tag),
        )
        self.rows = (*_MARKS, fence, action, *calls)
        self._in_fence = (*_MARKS, *calls, Opening('', _pattern(code)))
        self._after_action = (*_MARKS, fence, *calls, bracketed)
        before_names = ('Action', 'default_api.', 'call:') if names else ()
        words = {each[0] for each in (*literals, *names, *before_names)} - {'✿'}
        initials = ''.join(re.escape(each) for each in sorted(words))
        self.trigger = re.compile(r'[<&\[{`✿]' + (rf'|(?<![A-Za-z0-9_])[{initials}]' if words else ''))

    def found(self, text: str, *, final: bool) -> Found | None:
        """What begins at the beginning of this text; None where it is ordinary."""
        for row in self.rows:
            found = row.read(text, final)
            if found is not None:
                return found
        return None

    def _inner(self, body: str, final: bool, rows: Sequence[Opening]) -> Found | None:
        """What may stand behind something ordinary: only whether it is a call."""
        found = next((each for row in rows if (each := row.read(body, final)) is not None), None)
        return found if found is not None and found.kind in (Kind.CALL, Kind.WAIT) else None

    def _fence(self, text: str, final: bool) -> Found | None:
        match = _FENCE.match(text)
        if match is None:
            return WAIT if text in ('`', '``') and not final else None
        if match.end() == len(text) and not final:
            return WAIT
        known = in_fence(match['language'], match.end())
        if known is not None:
            return known
        named = match['language'] in self._names or text[match.end():].startswith('(')
        body = text[match.start('language') if named else match.end():]
        return self._inner(body, final, self._in_fence)

    def _tag(self, text: str, final: bool) -> Found | None:
        """What a name of no special kind may be: waited for already where it may be one."""
        match = _TAG.whole.match(text)
        if match is None or match['name'].strip('/') not in self._names:
            return None
        return Found(Kind.MARK, match.end()) if match['name'].startswith('/') else CALL

    def _action(self, text: str, final: bool) -> Found | None:
        match = _ACTION.match(text)
        if match is None or match.end() == len(text):
            return WAIT if not final and (match or _ACTION_BEGUN.fullmatch(text)) else None
        return self._inner(text[match.end():], final, self._after_action)

    def _object(self, text: str, final: bool) -> Found | None:
        """A JSON object that begins as calls do is waited for, and then read."""
        match = self._key.whole.match(text)
        if match is None:
            return WAIT if not final and self._key.begun.fullmatch(text) else None
        whole = text[match.start('object'):]
        body = whole[:LONGEST_OBJECT]
        length = _balanced(body, match['quote']) if '}' in body else None
        if length is not None:
            return CALL if self._is_call(body[:length], match['quote']) else None
        if len(whole) <= LONGEST_OBJECT and not final:
            return WAIT
        if len(whole) > LONGEST_OBJECT or looks_like_a_call(body):
            return CALL  # what is too long to be read is too long to be said
        return Found(Kind.MARK, len(text))

    def _is_call(self, text: str, quote: str) -> bool:
        """An object that cannot be read is a call if it looks like one: that is none of a visitor's business either."""
        try:
            return is_call(json.loads(text) if quote == '"' else ast.literal_eval(text), self._names)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return looks_like_a_call(text)


def _pattern(
    partial: Partial, meaning: Callable[[re.Match[str]], Found | None] = lambda _match: CALL
) -> Callable[[str, bool], Found | None]:
    def read(text: str, final: bool) -> Found | None:
        match = partial.whole.match(text)
        if match is not None:
            return meaning(match)
        return WAIT if not final and partial.begun.fullmatch(text) else None

    return read


_MARKS = (
    Opening('Harmony: `to=` between `<|start|>` or `<|channel|>` and `<|message|>`',
            _pattern(_HEADER, in_header)),
    Opening('tags and special tokens with the word tool, function or invoke: `<tool_call>`, '
            '`<function=name>`, `<x:invoke name=`, `&lt;tool_call&gt;`, `<|tool_call|>`, '
            '`<｜tool▁calls▁begin｜>`; `<|python_tag|>`',
            _pattern(_TAG, in_tag)),
    Opening('`[TOOL_CALLS]`, `[TOOL_REQUEST]`, `[ARGS]`', _pattern(_SQUARE, in_square_brackets)),
)


def _key(names: Collection[str]) -> Partial:
    """The first key of an object, or of the first object in a list or in braces too many."""
    keys = one_of((*_KEYS, *names))
    return Partial(
        re.compile(rf'(?:[\[{{]\s{{0,40}}){{0,3}}?(?P<object>\{{)\s{{0,40}}'
                   rf'(?P<quote>["\'])(?:{keys.whole.pattern})(?P=quote)\s{{0,40}}:'),
        re.compile(rf'(?:[\[{{]\s{{0,40}}){{1,4}}(?:["\'](?:{keys.begun.pattern})(?:["\']\s{{0,40}})?)?'),
    )


def _balanced(text: str, quote: str) -> int | None:
    """Where the object at the beginning of a text ends, None if it does not yet."""
    depth = 0
    for match in _BRACKETS[quote].finditer(text):
        bracket = match.group()
        depth += (bracket in ('{', '[')) - (bracket in ('}', ']'))
        if bracket[0] in '"\'' and (len(bracket) == 1 or bracket[-1] != bracket[0]):
            return None
        if depth == 0:
            return match.end()
    return None
