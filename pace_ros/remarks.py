"""What the robot says when it has no answer, by language."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pace_ros.language import is_blank, language
from pace_ros.wording import read_by_language

KINDS = ('apology', 'interrupted', 'acted', 'repeat')


class RemarkError(ValueError):
    """A remark file that cannot be used; the message names file and field."""


class Remarks:
    """Apology, broken-off answer, act unconfirmed, request to repeat; a language without its own has English ones."""

    def __init__(self, texts: Mapping[str, Mapping[str, str]]) -> None:
        self._texts = dict(texts)

    @classmethod
    def read(cls, path: Path) -> Remarks:
        """Read the remarks by language. Raises RemarkError naming file and field."""
        remarks = {}
        for key, texts in read_by_language(path, 'remarks', RemarkError).items():
            fields = texts if isinstance(texts, dict) else {}
            for kind in KINDS:
                if not isinstance(fields.get(kind), str) or is_blank(fields[kind]):
                    raise RemarkError(f"{path}, field '{key}.{kind}': must be text.")
            remarks[key] = fields
        return cls(remarks)

    def apology(self, locale: str) -> str:
        """Said when neither the model nor the knowledge base can answer."""
        return self._of(locale)['apology']

    def interrupted(self, locale: str) -> str:
        """Said when an answer breaks off."""
        return self._of(locale)['interrupted']

    def acted(self, locale: str) -> str:
        """Said when something was done for the visitor, and what came of it cannot be told."""
        return self._of(locale)['acted']

    def repeat(self, locale: str) -> str:
        """Said when the visitor was not understood."""
        return self._of(locale)['repeat']

    def _of(self, locale: str) -> Mapping[str, str]:
        return self._texts.get(language(locale), self._texts['en'])
