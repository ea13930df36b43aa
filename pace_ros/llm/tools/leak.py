"""Keeps tool markup out of what is said, however the stream is cut into chunks."""
from __future__ import annotations

import json
import re
from collections.abc import Collection

from pace_ros.llm.tools.call import ToolCall
from pace_ros.llm.tools.leaked_call import is_call, read_calls
from pace_ros.llm.tools.markup import MARKUPS, Markup, json_at, lowered, markup_at

MOST_KEPT = 8000  # characters of one piece of markup that are read for calls; the rest is only left out
_FENCE = re.compile(r'```(?:json)?\s*')
_FENCE_BEGUN = re.compile(r'`{1,2}|```(?:j|js|jso|json)?\s*')
_CLOSING = re.compile(r'\s*```')
_CLOSING_BEGUN = re.compile(r'\s*`{0,2}')
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[{}\[\]]', re.DOTALL)


class LeakFilter:
    """Takes the text of an answer in pieces and gives back what may be said of it; ``calls`` are those found in it.

    What it gives back depends on the whole text only. A piece is held back while it may be the beginning of markup: a
    few characters as a rule, and a JSON object that begins as a call does until it has ended and turns out to be none.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        """``names``: the tools there are."""
        self._names = frozenset(names)
        self._markups = (*MARKUPS, *(Markup(f'[{name.lower()}(', (')]',)) for name in names))
        first = {each.opener[0] for each in self._markups} | {'{', '`'}
        self._triggers = re.compile('|'.join(re.escape(each) for each in sorted(first)))
        self._held = ''
        self._inside: Markup | None = None
        self.calls: list[ToolCall] = []

    def feed(self, text: str) -> str:
        """Take the next text and return what may be said now."""
        self._held += text
        return self._drain(final=False)

    def flush(self) -> str:
        """Return what was held back in doubt, at the end of the stream."""
        return self._drain(final=True)

    def _drain(self, *, final: bool) -> str:
        said = []
        while self._held:
            if self._inside is not None:
                if not self._leave(final=final):
                    break
                continue
            trigger = self._triggers.search(self._held)
            begin = trigger.start() if trigger else len(self._held)
            said.append(self._held[:begin])
            self._held = self._held[begin:]
            if not self._held:
                break
            step = self._step(final=final)
            if step is None:
                break
            said.append(self._held[:step])
            self._held = self._held[step:]
        return ''.join(said)

    def _step(self, *, final: bool) -> int | None:
        """How many held characters may be said at a trigger; 0 where markup was taken out, None to wait for more."""
        found = markup_at(self._held, self._markups)
        if found is True and not final:
            return None
        if isinstance(found, bool):
            found = self._whole_opener()
        if found is not None:
            self._enter(found)
            return 0
        taken = self._call_end(final=final)
        if taken is None:
            return None
        if taken == 0:
            return 1
        self._read(self._held[:taken])
        self._held = self._held[taken:]
        return 0

    def _whole_opener(self) -> Markup | None:
        """At the end of the stream no longer opener can come: the one that is there counts, or half of one."""
        lower = lowered(self._held)
        whole = [each for each in self._markups if lower.startswith(each.opener)]
        if whole:
            return max(whole, key=lambda each: len(each.opener))
        half = (len(lower) > 2 and lower[:2] in ('<|', '<｜')) or any(
            each.opener.startswith(lower) for each in self._markups if len(lower) >= 5
        )
        return Markup(lower, ()) if half else None

    def _enter(self, markup: Markup) -> None:
        if markup.closers:
            self._inside = markup
        else:
            self._held = self._held[len(markup.opener):]

    def _leave(self, *, final: bool) -> bool:
        """Take the markup out if its end is there; says whether it was."""
        assert self._inside is not None  # noqa: S101  the caller has looked
        lower, begin = lowered(self._held), len(self._inside.opener)
        ends = [(at, len(each)) for each in self._inside.closers if (at := lower.find(each, begin)) >= 0]
        if not ends and not final:
            return False
        at, length = min(ends, default=(len(self._held), 0))
        end = at if lower.startswith('<|start|>', at) else at + length  # that begins the next message
        if self._inside.asks:
            self._read(self._held[:end])
        self._held, self._inside = self._held[end:], None
        return True

    def _read(self, markup: str) -> None:
        self.calls += read_calls(markup[:MOST_KEPT], self._names) or [ToolCall('', '', markup[:MOST_KEPT], leaked=True)]

    def _call_end(self, *, final: bool) -> int | None:
        """The length of a bare call at the beginning of what is held, 0 if there is none, None to wait for more."""
        fence = _FENCE.match(self._held)
        begin = fence.end() if fence else 0
        body = self._held[begin:]
        if not final and _FENCE_BEGUN.fullmatch(self._held):
            return None
        if not body.startswith(('{', '[')):
            return 0
        likely = json_at(body)
        if not likely:
            return None if likely is None and not final else 0
        length = _balanced(body)
        if length is None or length > MOST_KEPT:
            return self._endless(final=final)
        try:
            if not is_call(json.loads(body[:length])):
                return 0
        except (ValueError, RecursionError):
            pass  # a call that cannot be read is none of a visitor's business either
        return begin + length if not fence else self._fence_end(begin + length, final=final)

    def _endless(self, *, final: bool) -> int | None:
        """What begins as a call and does not end: wait, and at the end of the stream or if it is too long leave it out,
        with all that follows.
        """
        if len(self._held) > MOST_KEPT:
            self._inside = Markup('', ('\0',), asks=False)
        return len(self._held) if final or self._inside is not None else None

    def _fence_end(self, begin: int, *, final: bool) -> int | None:
        rest = self._held[begin:]
        if not final and _CLOSING_BEGUN.fullmatch(rest):
            return None
        match = _CLOSING.match(rest)
        return begin + (match.end() if match else 0)


def _balanced(text: str) -> int | None:
    """Where the JSON value at the beginning of a text ends, None if it does not yet."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        bracket = match.group()
        depth += (bracket in ('{', '[')) - (bracket in ('}', ']'))
        if bracket[0] == '"' and (len(bracket) == 1 or bracket[-1] != '"'):
            return None
        if depth == 0:
            return match.end()
    return None
