"""What the robot says when it has no answer, by language."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from pace_ros.language import is_blank, language

KINDS = ('apology', 'interrupted', 'repeat')


class RemarkError(ValueError):
    """A remark file that cannot be used; the message names file and field."""


class Remarks:
    """Apology, broken-off answer, request to repeat; a language without its own falls back on English."""

    def __init__(self, texts: Mapping[str, Mapping[str, str]]) -> None:
        self._texts = dict(texts)

    @classmethod
    def read(cls, path: Path) -> Remarks:
        """Read the remarks by language. Raises RemarkError naming file and field."""
        try:
            content = yaml.safe_load(path.read_text(encoding='utf-8'))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise RemarkError(f'{path} cannot be read: {error}.') from error
        if not isinstance(content, dict) or 'en' not in content:
            raise RemarkError(f"{path}: must map languages to remarks, 'en' among them.")
        for key, texts in content.items():
            for kind in KINDS:
                if not isinstance(texts, dict) or not isinstance(texts.get(kind), str) or is_blank(texts[kind]):
                    raise RemarkError(f"{path}, field '{key}.{kind}': must be text.")
        return cls(content)

    def apology(self, locale: str) -> str:
        """Said when neither the model nor the knowledge base can answer."""
        return self._of(locale)['apology']

    def interrupted(self, locale: str) -> str:
        """Said when an answer breaks off."""
        return self._of(locale)['interrupted']

    def repeat(self, locale: str) -> str:
        """Said when the visitor was not understood."""
        return self._of(locale)['repeat']

    def _of(self, locale: str) -> Mapping[str, str]:
        return self._texts.get(language(locale), self._texts['en'])
