"""Whether something was said that is one visitor's own: a name, a number, a plan."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from pace_ros.cache.patterns import PatternLists
from pace_ros.cache.scope import Leaning
from pace_ros.language import detect_locale
from pace_ros.llm import Exchange

_REMEMBERED = 512  # texts of running conversations that are searched once
_NOTHING = 'nothing'  # the section of wordings that sound like it and are not
_ADDRESS = 'address'  # how an answer speaks to a visitor it knows something of


class Personal:
    """Pattern files ``personal.<language>.txt``; the section of a line is what kind of thing is disclosed."""

    def __init__(self, patterns: PatternLists, leaning: Leaning) -> None:
        self._find = functools.lru_cache(_REMEMBERED)(patterns.find)
        self._leaning = leaning

    @classmethod
    def read(cls, folder: Path) -> Personal:
        """Read the pattern files in ``folder``. Raises PatternError naming the line, or if a file is missing."""
        return cls(PatternLists.read(folder, 'personal'), Leaning.read(folder))

    def disclosed(self, text: str, locale: str) -> str:
        """Why a text says something about the visitor, without what it says; empty if it does not."""
        line = self._find(text, locale)
        return '' if line is None or line.section == _NOTHING else f'{line.section}, line {line.number}'

    def in_conversation(self, question: str, answer: str, history: Sequence[Exchange]) -> str:
        """Why an answer may hold something about the visitor, empty if nothing points to it."""
        before: Exchange | None = None
        for said in (*history, Exchange(question, '')):
            locale = detect_locale(said.question, '')
            if why := self.disclosed(said.question, locale):
                return why
            if self._leaning.replies(said.question, locale, before):
                return 'told what the robot asked for'
            before = said
        line = self._find(answer, detect_locale(answer, ''))
        return f'{line.section}, line {line.number}' if line is not None and line.section == _ADDRESS else ''
