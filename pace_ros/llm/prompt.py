"""What the language model is told: who it is, what the showroom knows, what was said before."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pace_ros.language import language
from pace_ros.llm.completion import Message
from pace_ros.llm.history import Exchange, told
from pace_ros.retrieval import RetrievalHit
from pace_ros.wording import read_by_language


class PersonaError(ValueError):
    """A persona file that cannot be used; the message names file and field."""


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
        layout: str = 'front',
    ) -> list[Message]:
        """The chat messages of one request; without passages the model is not told of any.

        ``layout`` as ``l2.layout``: in front the passages stand in the system message, with append before the question
        they are for, and there they stay. So each prompt of a visit begins with the one before it and its answer, for
        as long as language, persona and the beginning of the history are the same.
        """
        wording = self._wordings.get(language(locale), self._wordings['en'])
        system, append = wording.persona if persona else wording.plain, layout == 'append'
        if append:
            question = _joined(wording, new_passages(passages, history), locale, then=question)
        else:
            system = _joined(wording, passages, locale, first=system)
        messages = [{'role': 'system', 'content': system}]
        for exchange in history:
            asked = exchange.asked if append and exchange.asked else exchange.question
            messages.append({'role': 'user', 'content': asked})
            messages.append({'role': 'assistant', 'content': exchange.answer})
        messages.append({'role': 'user', 'content': question})
        return messages


def new_passages(passages: Sequence[RetrievalHit], history: Sequence[Exchange]) -> list[RetrievalHit]:
    """The passages that the history does not hold already."""
    known = {entry.entry_id for entry in told(history)}
    return [hit for hit in passages if hit.entry.entry_id not in known]


def _joined(
    wording: _Wording, passages: Sequence[RetrievalHit], locale: str, *, first: str = '', then: str = ''
) -> str:
    """The passages with their introduction after ``first`` and before ``then``."""
    facts = '\n'.join(f'- {hit.entry.text(locale)}' for hit in passages)
    given = f'{wording.passages}\n{facts}' if passages else ''
    return '\n\n'.join(filter(None, [first, given, then]))
