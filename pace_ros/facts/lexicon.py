"""The opposites of one language, and how its sentences deny and ask."""
from __future__ import annotations

import abc
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeGuard

Side = tuple[str, int]  # pair and sign, such as ('open', -1) for closed
Found = tuple['Term', int, int]
_QUESTION = re.compile(r'(?:^|(?<=[.!?。;]))[^.!?。;]*(?:\?|[吗呢](?=[.!。;]|$))')
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# What may stand between a negation and the word it turns round.
_REACH_SPACED = re.compile(r"(?:\s+(?!(?:but|and|or)\b)[\w'-]+){0,2}\s+")
_REACH_HAN = re.compile('(?:太|很|是|会|怎么|那么|再|都|够|一定|需要|用|必|在)?')
# A stance stands apart: *No, it has none*; not *No problem*.
_PAUSE_SPACED = re.compile(r'\s*(?:[,.!?;:]|$|(?:it|we|you|they|i|he|she|there|that|this)\b)')
_PAUSE_HAN = re.compile(r'\s*(?:[,.!?。;:、]|$)')
# 能不能, 有没有 and 有天窗没有 ask without denying: they are read as 能, 有 and 有天窗.
_A_NOT_A = re.compile(r'([一-鿿]{1,2})[不没](?=\1)|(?<=[有了])没有?(?=\s{0,3}\?|[.!。\s]{0,3}$)')
_OR_NOT = re.compile(r'(有[^,。!?;\s]{1,15}?)没有(?=\s{0,3}\?|[.!。\s]{0,3}$)')
_ASKED = re.compile(r'([一-鿿]{1,2})[不没]\1.?')
# Where a word of one character that describes stands by itself, and is no part of another: 更大, 大吗; not 大家.
_DEGREES = frozenset('更最很太挺偏真较还不没够')
_CLOSE = re.compile(r'[吗吧呢啊嘛么的了些很得,。!?;、\s]|一?点|多少|$')


class AntonymError(ValueError):
    """A file of opposites that cannot be used; the message names file and field."""


class Term(NamedTuple):
    """A word or phrase: the sides it is on, and whether it denies what follows."""

    sides: tuple[Side, ...] = ()
    negates: bool = False


class Classes(NamedTuple):
    """How pairs tell questions apart.

    The first side of ``unmarked`` ones adds nothing to a question; the other side of ``denials``, some of these, is a
    mere *not*. A question that takes a side of a ``loose`` pair differs only from one that takes the other side; so it
    does for ``degrees`` if the questions are in two languages. ``asking`` pairs are loose and no sides of statements.
    """

    unmarked: frozenset[str] = frozenset()
    denials: frozenset[str] = frozenset()
    loose: frozenset[str] = frozenset()
    degrees: frozenset[str] = frozenset()
    asking: frozenset[str] = frozenset()


class Lexicon(abc.ABC):
    """Terms, found in texts in their ``plain`` form; of two that begin together the longer one."""

    def __init__(self, terms: Mapping[str, Term], classes: Classes) -> None:
        self._terms = dict(terms)
        self.classes = classes

    @abc.abstractmethod
    def terms(self, text: str) -> Iterator[Found]:
        """Every term of a text with its place [start, end), in order."""

    @abc.abstractmethod
    def reaches(self, text: str, negation_end: int, start: int) -> bool:
        """Whether a negation turns round the word that starts there."""

    @abc.abstractmethod
    def pauses(self, text: str, end: int) -> bool:
        """Whether what ends there stands apart from what follows."""

    def read_questions(self, text: str) -> str:
        """The text with its questions in the form that denies nothing."""
        return text

    def without_questions(self, text: str) -> str:
        """The text without what it asks."""
        return _QUESTION.sub('', text)


class SpacedLexicon(Lexicon):
    """Of a language with spaces: terms are whole words, and *n't* at the end of any word is one."""

    def __init__(self, terms: Mapping[str, Term], classes: Classes) -> None:
        super().__init__(terms, classes)
        self._by_first: dict[str, list[str]] = {}
        for term in sorted(terms, key=len, reverse=True):
            first = _TOKEN.match(term)
            self._by_first.setdefault(first.group() if first else term, []).append(term)

    def terms(self, text: str) -> Iterator[Found]:
        """Every term of a text with its place [start, end), in order."""
        position = 0
        for match in _TOKEN.finditer(text):
            start = match.start()
            if start < position:
                continue
            token = match.group()
            for term in self._by_first.get(token, ()):
                end = start + len(term)
                if text.startswith(term, start) and not text[end:end + 1].isalnum():
                    position = end
                    yield self._terms[term], start, end
                    break
            else:
                if token.endswith("n't"):
                    yield Term(negates=True), start, match.end()

    def reaches(self, text: str, negation_end: int, start: int) -> bool:
        """Over two words at most, none of which joins or contrasts."""
        return _REACH_SPACED.fullmatch(text, negation_end, start) is not None

    def pauses(self, text: str, end: int) -> bool:
        """Whether punctuation, an end or a pronoun follows."""
        return _PAUSE_SPACED.match(text, end) is not None


class HanLexicon(Lexicon):
    """Of Chinese: terms are found anywhere, those that ``describe`` only where they stand by themselves."""

    def __init__(self, terms: Mapping[str, Term], classes: Classes, describing: frozenset[str]) -> None:
        super().__init__(terms, classes)
        self._describing = describing
        self._pattern = re.compile('|'.join(re.escape(each) for each in sorted(terms, key=len, reverse=True)))

    def terms(self, text: str) -> Iterator[Found]:
        """Every term of a text with its place [start, end), in order."""
        for match in self._pattern.finditer(text):
            word = match.group()
            if word not in self._describing or _stands_alone(text, match.start()):
                yield self._terms[word], match.start(), match.end()

    def reaches(self, text: str, negation_end: int, start: int) -> bool:
        """Over one adverb at most."""
        return _REACH_HAN.fullmatch(text, negation_end, start) is not None

    def pauses(self, text: str, end: int) -> bool:
        """Whether punctuation or an end follows."""
        return _PAUSE_HAN.match(text, end) is not None

    def read_questions(self, text: str) -> str:
        """能不能 as 能, 有没有 as 有."""
        if '不' not in text and '没' not in text:
            return text
        return _OR_NOT.sub(r'\1', _A_NOT_A.sub('', text))

    def without_questions(self, text: str) -> str:
        """Without questions, also those inside a statement: 能不能贷要看收入."""
        return _QUESTION.sub('', _ASKED.sub('、', text))


def _stands_alone(text: str, start: int) -> bool:
    before = text[start - 1] if start else ''
    return before in _DEGREES or (before != '多' and _CLOSE.match(text, start + 1) is not None)


def read_lexicon(fields: object, where: str, name: str) -> Lexicon:
    """Build the lexicon of language ``name`` from its fields. Raises AntonymError beginning with ``where``."""
    if not isinstance(fields, dict) or not isinstance(fields.get('pairs'), dict):
        raise AntonymError(f"{where}': must have 'negations', a list of words, and 'pairs', a mapping.")
    negations = _list(fields, 'negations', where)
    if not negations:
        raise AntonymError(f"{where}': must have 'negations', a list of words, and 'pairs', a mapping.")
    pairs = {str(pair): sides for pair, sides in fields['pairs'].items()}
    classes = _classes(fields, pairs.keys(), where)
    spaced = name != 'zh'
    terms = {word: Term(negates=True) for word in negations}
    for word, sides in _sides(pairs, where).items():
        terms[word] = Term(tuple(sides), _negates(word, negations, spaced=spaced))
    describing = frozenset(_list(fields, 'describing', where))
    if unknown := describing - terms.keys():
        raise AntonymError(f"{where}.describing': {min(unknown)!r} is in no pair.")
    for word in _list(fields, 'neutral', where):
        if terms.setdefault(word, Term()) != Term():
            raise AntonymError(f"{where}.neutral': {word!r} is also a negation or in a pair.")
    return SpacedLexicon(terms, classes) if spaced else HanLexicon(terms, classes, describing)


def _classes(fields: Mapping[str, object], pairs: Iterable[str], where: str) -> Classes:
    classes = Classes(*(frozenset(_list(fields, field, where)) for field in Classes._fields))
    for field, listed in classes._asdict().items():
        if unknown := listed.difference(pairs):
            raise AntonymError(f"{where}.{field}': {min(unknown)!r} is no pair.")
    if unknown := classes.denials - classes.unmarked:
        raise AntonymError(f"{where}.denials': {min(unknown)!r} is not unmarked.")
    return classes


def _list(fields: Mapping[str, object], field: str, where: str) -> list[str]:
    value = fields.get(field)
    if value is not None and not _texts(value):
        raise AntonymError(f"{where}.{field}': must be a list of words.")
    return [word.strip().lower() for word in value or []]


def _sides(pairs: Mapping[str, object], where: str) -> dict[str, list[Side]]:
    """The sides of every word; a word may be in several pairs, but on one side of each."""
    found: dict[str, list[Side]] = {}
    for pair, sides in pairs.items():
        if not isinstance(sides, list) or len(sides) != 2 or not all(_texts(side) for side in sides):
            raise AntonymError(f"{where}.pairs.{pair}': must be two lists of words.")
        for sign, side in zip((1, -1), sides, strict=True):
            for word in side:
                taken = found.setdefault(word.strip().lower(), [])
                if (pair, -sign) in taken:
                    raise AntonymError(f"{where}.pairs.{pair}': {word!r} is on another side too.")
                taken.append((pair, sign))
    return found


def _negates(word: str, negations: list[str], *, spaced: bool) -> bool:
    """Whether a word has a negation in it, which reaches on: *can't*, 不能."""
    if spaced:
        return word.endswith("n't") or any(part in negations for part in word.split())
    return word.startswith(tuple(negations))


def _texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) and item.strip() for item in value)
