"""What a stream of deltas says, and what it calls."""
from __future__ import annotations

from collections.abc import Collection

from pace_ros.llm.delta import AnswerText, Delta, without_leading_blanks
from pace_ros.llm.tools.assembler import CallAssembler
from pace_ros.llm.tools.call import ToolCall
from pace_ros.llm.tools.leak import LeakFilter


class Heard:
    """Lets only what may be said through: no leading blanks, no reasoning, no tool markup, nothing after a call, which
    the model wrote without knowing the result.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        """``names``: the tools the model may call."""
        self._answer = AnswerText()
        self._leak = LeakFilter(names)
        self._calls = CallAssembler()
        self.started = False

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls so far. A server may send one and leave it in the text, too: what it sent counts."""
        return self._calls.calls() or tuple(self._leak.calls)

    def feed(self, delta: Delta) -> str:
        """Take the next delta and return what may be said of it."""
        after = bool(self._calls.calls())
        self._calls.feed(delta.calls)
        return '' if after else self._informative(self._leak.feed(self._answer.feed(delta.text)))

    def flush(self) -> str:
        """Return what was held back in doubt, at the end of the stream."""
        rest = '' if self._calls.calls() else self._answer.flush()
        return self._informative(self._leak.feed(rest) + self._leak.flush())

    def _informative(self, text: str) -> str:
        """After markup at the beginning, blanks are at the beginning again."""
        if not self.started:
            text = without_leading_blanks(text)
        self.started = self.started or bool(text)
        return text
