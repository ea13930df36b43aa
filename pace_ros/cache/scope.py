"""The part of a cache key that is compared exactly, not by similarity: language, and what the conversation is about."""
from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import re2

from pace_ros.cache.patterns import Line, PatternLists
from pace_ros.facts.names import Name, ProductNames
from pace_ros.facts.numerals import plain
from pace_ros.language import language, normal_form
from pace_ros.llm import Exchange

_REMEMBERED = 512  # texts of running conversations whose reading is kept, so that each is read once
_CLOSING = '"”’」』)） '
_ASKING = ('?', '？', '吗', '呢')
# Sections of exchange.<language>.txt that say nothing of leaning; every other section does.
_WHOLE = 'whole'  # speaks of a product as a whole
_ASKS = 'asks'
_FRAGMENT = 'fragment'
_STANDING = (_WHOLE, _ASKS, _FRAGMENT)
_ASSENT = 'assent'
# Sections of subject.<language>.txt that lean on a subject.
_PRODUCT = 'product'  # the one in focus, whenever it was spoken of
_PRONOUN = 'pronoun'  # the one just spoken of
_THING = 'thing'  # that one, or a part of it just spoken of
_LEANING = (_PRODUCT, _PRONOUN, _THING)
_HOUSE = 'house'
_PRONOUNS = ('it', '它', '这', '那')


def scope_of(locale: str) -> str:
    """Answers are shared within one language only: an English question never gets a Chinese answer."""
    return language(locale)


@dataclass(frozen=True)
class Scope:
    """What a question means in its conversation.

    ``key`` is what must be the same in a cached question, None if no other's answer will do; ``subject`` what the
    conversation adds to the question's own names; ``leans`` whether the question means nothing without the
    conversation; ``reason`` why the key is what it is.
    """

    key: str | None
    subject: tuple[Name, ...] = ()
    leans: bool = False
    reason: str = ''


@dataclass(frozen=True)
class _Focus:
    """What was spoken of last: one name a kind if ``clear``, else all it may have been; ``place`` in the history."""

    names: tuple[Name, ...] = ()
    clear: bool = True
    place: int = -1


class Leaning:
    """How an utterance leans on what was said before it, by the pattern files ``exchange`` and ``subject``."""

    def __init__(self, exchange: PatternLists, subject: PatternLists) -> None:
        self._exchange = functools.lru_cache(_REMEMBERED)(exchange.find)
        self._subject = functools.lru_cache(_REMEMBERED)(subject.find)

    @classmethod
    def read(cls, folder: Path) -> Leaning:
        """Read ``exchange.<language>.txt`` and ``subject.<language>.txt``. Raises PatternError naming the line."""
        return cls(PatternLists.read(folder, 'exchange'), PatternLists.read(folder, 'subject'))

    def on_exchange(self, text: str, locale: str, history: Sequence[Exchange]) -> str:
        """Why an utterance can be understood only with the last exchange, empty if that is not needed."""
        line = self._exchange(text, locale)
        section = line.section if line is not None else ''
        if line is not None and section not in _STANDING:
            return f'leans on the exchange: {section}, line {line.number}'
        if history and _asks_back(history[-1].answer) and section not in (_WHOLE, _ASKS):
            return 'answers the question before'
        if history and section == _FRAGMENT:
            return 'leans on the exchange: it is no whole question'
        return ''

    def replies(self, text: str, locale: str, before: Exchange | None) -> bool:
        """Whether an utterance tells the robot what it asked for, more than yes or no."""
        if before is None or not _asks_back(before.answer):
            return False
        line = self._exchange(text, locale)
        return line is None or line.section not in (_WHOLE, _ASKS, _ASSENT)

    def on_subject(self, text: str, locale: str) -> Line | None:
        """The line of ``subject`` that a question matches first."""
        return self._subject(text, locale)

    def whole(self, text: str, locale: str) -> str | None:
        """What a question about a product as a whole calls it, empty for a pronoun; None for any other question."""
        line = self._exchange(text, locale)
        if line is None or line.section != _WHOLE:
            return None
        found = re2.search(line.pattern, normal_form(text))
        return (found.groupdict().get('product') or '') if found else ''


class ScopeReader:
    """Reads what a question means from the pattern files and from what its conversation has named.

    ``subjects`` are the kinds of names a conversation can be about, the main one first: a question that names one of
    the main kind stands by itself.
    """

    def __init__(self, names: ProductNames, leaning: Leaning, subjects: Sequence[str] = ('model', 'trim')) -> None:
        self._leaning = leaning
        self._order = tuple(subjects)
        self._main = subjects[0]
        self._named = functools.lru_cache(_REMEMBERED)(lambda text: self._subjects(names.find(plain(text))))

    @classmethod
    def read(cls, folder: Path, names: ProductNames, subjects: Sequence[str] = ('model', 'trim')) -> ScopeReader:
        """Read the pattern files in ``folder``. Raises PatternError naming the line, or if a file is missing."""
        return cls(names, Leaning.read(folder), subjects)

    def of(self, question: str, locale: str, history: Sequence[Exchange]) -> Scope:
        """What a question means; ``history`` is what the language model will see, oldest first."""
        tongue = scope_of(locale)
        if reason := self._leaning.on_exchange(question, locale, history):
            return Scope(None, leans=True, reason=reason)
        named = self._named(question)
        if mains := self._mains(named):
            return self._named_scope(tongue, named, set(mains), history)
        line = self._leaning.on_subject(question, locale)
        section = line.section if line is not None else ''
        if section == _HOUSE:
            return Scope(tongue, reason='is about the house')
        focus = self._focus(history)
        if line is not None and section in _LEANING:
            return self._leaning_scope(tongue, line, named, focus, locale, history)
        added = self._added(named, focus)
        if not focus.clear:
            if named:
                return Scope(None, reason='no one subject in focus')
            return Scope(_key(tongue, added), reason='more than one subject was spoken of')
        return Scope(_key(tongue, added), added, reason='the subject in focus may be meant' if added else '')

    def _named_scope(
        self, tongue: str, named: tuple[Name, ...], mains: set[Name], history: Sequence[Exchange]
    ) -> Scope:
        """Of a question that names its subject; a trim of it that was spoken of may still be meant."""
        focus = self._focus(history)
        if not mains & set(self._mains(focus.names)):
            return Scope(tongue, reason='names its subject')
        added = self._added(named, focus)
        return Scope(_key(tongue, added), added if focus.clear else (), reason='names its subject')

    def _leaning_scope(
        self, tongue: str, line: Line, named: tuple[Name, ...], focus: _Focus, locale: str, history: Sequence[Exchange]
    ) -> Scope:
        reason = f'leans on a subject: {line.section}, line {line.number}'
        if not self._mains(focus.names):
            return Scope(None, leans=True, reason=f'{reason}; none is known')
        if not focus.clear:
            return Scope(None, leans=True, reason=f'{reason}; more than one was spoken of')
        later = history[focus.place + 1:]
        if line.section != _PRODUCT and not all(self._leans(each.question, locale) for each in later):
            return Scope(None, leans=True, reason=f'{reason}; something else was spoken of since')
        if line.section == _THING and not self._is_whole(history[-1].question, locale):
            return Scope(None, leans=True, reason=f'{reason}; it may be a part of the subject')
        added = self._added(named, focus)
        return Scope(_key(tongue, added), added, leans=True, reason=reason)

    def _focus(self, history: Sequence[Exchange]) -> _Focus:
        """The latest exchange with names decides; where its names may be read in two ways, both are kept."""
        for place in range(len(history) - 1, -1, -1):
            asked, said = self._named(history[place].question), self._named(history[place].answer)
            if asked or said:
                return self._focus_at(place, history, asked, said)
        return _Focus()

    def _focus_at(
        self, place: int, history: Sequence[Exchange], asked: tuple[Name, ...], said: tuple[Name, ...]
    ) -> _Focus:
        # Unless the question names a main subject itself, what was in focus before may still be meant.
        before = _Focus() if self._mains(asked) else self._focus(history[:place])
        names: list[Name] = []
        clear = before.clear
        for kind in self._order:
            mine, told, earlier = _of(kind, asked), _of(kind, said), _of(kind, before.names)
            if kind != self._main:
                told = told if len(told) == 1 else ()  # an answer that lists trims speaks of none
                clear = clear and (bool(mine) or not (asked or before.names) or set(told) <= set(earlier))
            either = {*mine, *told, *(() if mine else earlier)}
            clear = clear and len(either) <= 1
            names += sorted(either)
        return _Focus(tuple(names), clear, place)

    def _leans(self, question: str, locale: str) -> bool:
        line = self._leaning.on_subject(question, locale)
        return line is not None and line.section in _LEANING

    def _is_whole(self, question: str, locale: str) -> bool:
        """Whether a question is about a whole product, so that nothing else can be meant by *it* thereafter."""
        called = self._leaning.whole(question, locale)
        if called is None or (not called or called in _PRONOUNS):
            return called is not None and self._leans(question, locale)
        names = self._named(called)  # of which no end can be spared if it is a name and nothing more
        return bool(self._mains(names)) and names not in (self._named(called[1:]), self._named(called[:-1]))

    def _added(self, named: Iterable[Name], focus: _Focus) -> tuple[Name, ...]:
        """What the focus adds to a question's own names."""
        kinds = {kind for kind, _ in named}
        return tuple(name for name in focus.names if name[0] not in kinds)

    def _subjects(self, names: Iterable[Name]) -> tuple[Name, ...]:
        return tuple(name for name in names if name[0] in self._order)

    def _mains(self, names: Iterable[Name]) -> tuple[Name, ...]:
        return _of(self._main, names)


def _of(kind: str, names: Iterable[Name]) -> tuple[Name, ...]:
    return tuple(name for name in names if name[0] == kind)


def _key(tongue: str, names: Iterable[Name]) -> str:
    return ' '.join([tongue, *(f'{kind}={name}' for kind, name in names)])


def _asks_back(answer: str) -> bool:
    """Whether an answer ends in a question."""
    end = answer.rstrip(_CLOSING).rstrip()
    return end.endswith(_ASKING) or end.rstrip('。.!！~～ ').endswith(('吗', '呢'))
