"""The reference judge: an answer is right if it states the facts of the reference, and nothing against them."""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pace_ros.facts import FactExtractor, Facts
from pace_ros.language import detect_locale, is_blank, language, normal_form
from pace_ros.study.datasets.question import Question
from pace_ros.study.judging.overlap import overlap, without_questions, words
from pace_ros.study.judging.stated import Stated, stated
from pace_ros.study.judging.unanswered import is_apology, is_honest

WORDS_LIMIT = 0.5  # F1 of content words from which an answer without facts is right
PARTLY = 0.25  # F1 from which a wrong answer is at least about the matter
ABOUT = (0.45, PARTLY, 0.0)  # F1 that shows the matter, by strength of the facts: NAMED, MEASURED, TELLING
BRIEF = (2, 5, 5)  # content words (in Chinese pairs of characters) up to which an answer says its facts and no more
PADDED = 2.0  # times the length of the reference, from which (beside SLACK) an answer is padded
SLACK = {'zh': 20, 'en': 60}  # characters of courtesy that pad nothing
REMEMBERED = 65_536  # texts whose facts are kept
_LATIN = re.compile('[a-z0-9]')


@dataclass(frozen=True)
class Verdict:
    """What a judge says of an answer.

    ``stale``: not right now, but right by a former edition. ``quality``, 1 to 5: 5 right and to the point; 4 right,
    with padding or further facts; 3 right but in another language, right in part, or an honest *I don't know*;
    2 a wrong or stale fact; 1 no answer, an apology, or off the point. ``why`` is a short reason.
    """

    correct: bool
    stale: bool
    quality: int
    why: str


class ReferenceJudge:
    """Compares facts exactly: quantities, moments, names, polarity; words only where a reference has no fact."""

    def __init__(self, facts: FactExtractor) -> None:
        self._extract = lru_cache(maxsize=REMEMBERED)(facts.facts)
        self._judged = lru_cache(maxsize=REMEMBERED)(self._verdict)

    def verdict(self, answer: str, question: Question, editions: Sequence[str]) -> Verdict:
        """Judge an answer. ``editions`` are all that was ever the right answer, the last one is right now."""
        return self._judged(answer, question, tuple(editions))

    def _verdict(self, answer: str, question: Question, editions: tuple[str, ...]) -> Verdict:
        if is_blank(answer):
            return Verdict(False, False, 1, 'no answer')
        now = self._against(answer, question, editions[-1], original=len(editions) == 1)
        if now.quality == 5:
            return now
        for place, former in enumerate(editions[:-1]):
            if former == editions[-1]:
                continue
            then = self._against(answer, question, former, original=place == 0)
            if then.correct and (not now.correct or then.quality == 5):  # what is too much now was to the point then
                return Verdict(False, True, 2, f'right by edition {place + 1} of {len(editions)}')
        return now

    def _against(self, answer: str, question: Question, reference: str, *, original: bool) -> Verdict:
        """The verdict by one edition. The accepted texts of a question are those of its ``original`` edition."""
        if question.accepted and original:
            return self._by_accepted(answer, question, reference)
        locale = question.locale
        compared = stated(*(self._facts(text, locale) for text in (answer, reference, question.text)))
        if compared.against:
            return Verdict(False, False, 2, f'against the reference: {", ".join(compared.against)}')
        if compared.decides:
            return self._by_facts(answer, question, reference, compared)
        return self._by_words(answer, question, reference, compared)

    def _by_facts(self, answer: str, question: Question, reference: str, compared: Stated) -> Verdict:
        if not compared.missing and not _is_about(answer, question, reference, compared.strength):
            return Verdict(False, False, 1, f'speaks of something else that has {", ".join(compared.found)}')
        if not compared.missing:
            return _right(answer, question, reference, compared.extra, 'states all facts')
        missing = f'not stated: {", ".join(compared.missing)}'
        if compared.found:
            return Verdict(False, False, 3, missing)
        return _not_right(answer, question, reference, missing)

    def _by_words(self, answer: str, question: Question, reference: str, compared: Stated) -> Verdict:
        shared = overlap(answer, reference, question.locale)
        why = f'shares {shared:.2f} of the words'
        if shared >= WORDS_LIMIT:
            return _right(answer, question, reference, compared.extra, why)
        return _not_right(answer, question, reference, why)

    def _by_accepted(self, answer: str, question: Question, reference: str) -> Verdict:
        said = normal_form(answer)
        for each in question.accepted:
            if _contains(said, normal_form(each)):
                return _right(answer, question, reference, 0, f'contains {each!r}')
        return _not_right(answer, question, reference, 'contains no accepted answer')

    def _facts(self, text: str, locale: str) -> Facts:
        """In the language the text is written in; what it asks is not stated."""
        return self._extract(without_questions(text), detect_locale(text, locale))


def _is_about(answer: str, question: Question, reference: str, strength: int) -> bool:
    """Whether its facts or words show that an answer speaks of the matter, or it is too short for another one."""
    if len(words(answer, spaced=language(question.locale) != 'zh')) <= BRIEF[strength]:
        return True
    limit = ABOUT[strength]
    return any(overlap(answer, text, question.locale) >= limit for text in (reference, question.text))


def _right(answer: str, question: Question, reference: str, extra: int, why: str) -> Verdict:
    if language(detect_locale(answer, question.locale)) != language(detect_locale(reference, question.locale)):
        return Verdict(True, False, 3, f'{why}, in another language')
    longest = PADDED * len(reference) + SLACK.get(language(question.locale), SLACK['en'])
    if extra or len(answer) > longest:
        return Verdict(True, False, 4, f'{why}, with {"further facts" if extra else "padding"}')
    return Verdict(True, False, 5, why)


def _not_right(answer: str, question: Question, reference: str, why: str) -> Verdict:
    """Partly right, honest, or nothing of the matter."""
    if is_apology(answer):
        return Verdict(False, False, 1, 'an apology')
    if is_honest(answer):
        return Verdict(False, False, 3, 'says that it does not know')
    about = overlap(answer, reference, question.locale) >= PARTLY
    return Verdict(False, False, 3 if about else 1, why)


def _contains(text: str, part: str) -> bool:
    """Whether a text has a part in it, no part of a longer Latin word or number."""
    begin = text.find(part) if part else -1
    while begin >= 0:
        end = begin + len(part)
        before = begin and _LATIN.match(text[begin - 1]) and _LATIN.match(part[0])
        after = _LATIN.match(text[end:end + 1]) and _LATIN.match(part[-1])
        if not before and not after:
            return True
        begin = text.find(part, begin + 1)
    return False
