"""What the language model is told: who it is, what the showroom knows, what was said before."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pace_ros.language import language
from pace_ros.llm.completion import Message
from pace_ros.retrieval import RetrievalHit
from pace_ros.wording import read_by_language


class PersonaError(ValueError):
    """A persona file that cannot be used; the message names file and field."""


@dataclass(frozen=True)
class Exchange:
    """One finished turn as the model will be reminded of it."""

    question: str
    answer: str


@dataclass(frozen=True)
class _Wording:
    persona: str
    plain: str
    passages: str


class PromptBook:
    """Builds the messages of a request from the persona file."""

    def __init__(self, wordings: Mapping[str, _Wording]) -> None:
        self._wordings = dict(wordings)

    @classmethod
    def read(cls, path: Path) -> PromptBook:
        """Read the persona by language. Raises PersonaError naming file and field."""
        wordings = {}
        for key, fields in read_by_language(path, 'wordings', PersonaError).items():
            if not isinstance(fields, dict):
                raise PersonaError(f"{path}, field '{key}': must be a mapping.")
            for name in ('persona', 'plain', 'passages'):
                if not isinstance(fields.get(name), str):
                    raise PersonaError(f"{path}, field '{key}.{name}': must be text.")
            wordings[key] = _Wording(*(fields[name].strip() for name in ('persona', 'plain', 'passages')))
        return cls(wordings)

    def messages(
        self,
        question: str,
        locale: str,
        *,
        passages: Sequence[RetrievalHit],
        history: Sequence[Exchange],
        persona: bool,
    ) -> list[Message]:
        """The chat messages of one request; without passages the model is not told of any."""
        wording = self._wordings.get(language(locale), self._wordings['en'])
        system = wording.persona if persona else wording.plain
        if passages:
            facts = '\n'.join(f'- {hit.entry.text(locale)}' for hit in passages)
            system = f'{system}\n\n{wording.passages}\n{facts}'
        messages = [{'role': 'system', 'content': system}]
        for exchange in history:
            messages.append({'role': 'user', 'content': exchange.question})
            messages.append({'role': 'assistant', 'content': exchange.answer})
        messages.append({'role': 'user', 'content': question})
        return messages
