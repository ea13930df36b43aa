"""What a server says that an answer took, and what is in its chunks."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Chunk = dict[str, Any]


@dataclass(frozen=True)
class Usage:
    """Prompt tokens in all, of them found in the slot, and s to read the rest; tokens answered."""

    prompt: int
    cached: int
    answered: int
    reading: float

    @property
    def read(self) -> int:
        """Prompt tokens that were read anew."""
        return self.prompt - self.cached

    @property
    def held(self) -> int:
        """Tokens in the slot afterwards: the last one of the answer was never fed back."""
        return self.prompt + max(0, self.answered - 1)


def usage_of(chunk: Mapping[str, Any]) -> Usage | None:
    """The usage of a response or of its last chunk, None where there is none. Raises ValueError for negative numbers,
    or whatever its shape makes Python raise.
    """
    usage, timings = chunk.get('usage'), chunk.get('timings') or {}
    if not isinstance(usage, Mapping):
        return None
    prompt = int(usage.get('prompt_tokens') or 0)
    details = usage.get('prompt_tokens_details') or {}
    cached = int(timings.get('cache_n', details.get('cached_tokens') or 0))
    answered, reading = int(usage.get('completion_tokens') or 0), float(timings.get('prompt_ms') or 0.0) / 1e3
    found = Usage(prompt, cached, answered, reading)
    if min(found.prompt, found.cached, found.answered, found.read) < 0:
        raise ValueError(f'{found} has negative numbers')
    return found


def says_something(chunk: Mapping[str, Any]) -> bool:
    """Whether a chunk holds a piece of the answer, of its reasoning, or of a call."""
    deltas = [each.get('delta') or {} for each in chunk.get('choices') or ()]
    return any(delta.get('content') or delta.get('tool_calls') or delta.get('reasoning_content') for delta in deltas)
