"""What a tool is: what the model is told of it, and what comes of a call."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pace_ros.llm.tools.arguments import ArgumentCheck
from pace_ros.retrieval import RetrievalHit


class ToolFailed(RuntimeError):
    """A call came to nothing; the message is a short sentence for the model. ``sent``: what it asks for had been sent,
    and may have been done all the same.
    """

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent


@dataclass(frozen=True)
class ToolSpec:
    """What every kind of tool has. ``timeout`` in s.

    ``live``: its answers age, so that an answer made of them is never cached. ``effects``: a call changes something in
    the world, so that none is made for a visitor who has not finished, or twice for one question.
    """

    name: str
    description: str
    parameters: Mapping[str, object]
    check: ArgumentCheck
    timeout: float = 3.0
    live: bool = True
    effects: bool = False

    def fields(self) -> dict[str, object]:
        """The tool as a request declares it."""
        return {'type': 'function', 'function': {
            'name': self.name, 'description': self.description, 'parameters': dict(self.parameters),
        }}


@dataclass(frozen=True)
class ToolResult:
    """What the model is told, and the knowledge that it is made of."""

    text: str
    hits: tuple[RetrievalHit, ...] = ()


class Tool(Protocol):
    """Whatever the model may call."""

    @property
    def spec(self) -> ToolSpec:
        """What the model is told of it, and its limits."""
        ...

    async def call(self, arguments: Mapping[str, object], locale: str) -> ToolResult:
        """Do it, for a visitor of this locale, with arguments that have been checked. Raises ToolFailed."""
        ...

    async def aclose(self) -> None:
        """Close what it holds open."""
        ...
