"""Keeps tool markup out of what is said, however the stream is cut into chunks."""
from __future__ import annotations

import functools
import re
from collections.abc import Collection

from pace_ros.llm.tools.assembler import MOST_CALLS
from pace_ros.llm.tools.call import ToolCall
from pace_ros.llm.tools.leaked_call import read_calls
from pace_ros.llm.tools.markup import WAIT, Found, Kind
from pace_ros.llm.tools.openings import Openings
from pace_ros.llm.tools.residue import looks_like_a_call

MOST_KEPT = 8000  # characters of calls that are read; the rest is only left out
LONGEST_CLOSER = 120  # characters
_MADE_UP = re.compile(r'(?:[<\[]|&lt;|```)[^\s<>\[\]"]{0,40}(?:response|result|output)s?', re.IGNORECASE)


class LeakFilter:
    """Takes the text of an answer in pieces and gives back what may be said of it: nothing from its first call on, as
    the model wrote that without knowing the result.

    What it gives back depends on the whole text only. A piece is held back while it may be the beginning of a call: a
    word or a mark as a rule, and a JSON object that begins as a call does until it has ended and turns out to be none.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        """``names``: the tools there are."""
        self._names = frozenset(names)
        self._openings = _openings(self._names)
        self._held = self._before = ''
        self._closer: re.Pattern[str] | None = None
        self._taken: str | None = None

    @property
    def calls(self) -> list[ToolCall]:
        """The calls so far. What is none that can be read is one without a name; none follows a made-up result."""
        if self._taken is None:
            return []
        made_up = _MADE_UP.search(self._taken, 1)
        text = self._taken[:made_up.start()] if made_up else self._taken
        return list(read_calls(text, self._names)[:MOST_CALLS]) or [ToolCall('', '', text, leaked=True)]

    def feed(self, text: str) -> str:
        """Take the next text and return what may be said now."""
        if self._taken is not None:
            self._taken += text[:MOST_KEPT - len(self._taken)]
            return ''
        self._held += text
        return self._drain(final=False)

    def flush(self) -> str:
        """Return what was held back in doubt, at the end of the stream."""
        return self._drain(final=True)

    def _drain(self, *, final: bool) -> str:
        said = []
        while self._held:
            if self._closer is not None:
                if not self._leave(self._closer):
                    break
                continue
            said.append(self._advance(self._ordinary()))
            if not self._held:
                break
            found = self._found(final=final)
            if found is None:
                said.append(self._advance(1))
            elif found.kind is Kind.WAIT:
                break
            elif found.kind is Kind.CALL:
                self._taken, self._held = self._held[:MOST_KEPT], ''
            else:
                self._advance(found.length)
                self._closer = found.closer
        return ''.join(said)

    def _ordinary(self) -> int:
        """How many of the held characters come before the first at which something may begin."""
        begin = len(self._before)
        trigger = self._openings.trigger.search(self._before + self._held, begin)
        return trigger.start() - begin if trigger else len(self._held)

    def _advance(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        self._before = text[-1:] or self._before
        return text

    def _found(self, *, final: bool) -> Found | None:
        """What begins here. At the end of the stream, half of a call is taken out."""
        found = self._openings.found(self._held, final=final)
        if found is not None or not final or self._openings.found(self._held, final=False) != WAIT:
            return found
        special = len(self._held) > len('<|') and self._held.startswith(('<|', '<｜'))
        half = special or looks_like_a_call(self._held) or any(f'{name}(' in self._held for name in self._names)
        return Found(Kind.MARK, len(self._held)) if half else None

    def _leave(self, closer: re.Pattern[str]) -> bool:
        """Leave out what is held of an aside; says whether its end was there."""
        match = closer.search(self._held)
        self._advance(match.end() if match else max(0, len(self._held) - LONGEST_CLOSER))
        if match:
            self._closer = None
        return match is not None


@functools.lru_cache(maxsize=8)
def _openings(names: frozenset[str]) -> Openings:
    return Openings(names)
