"""How much of a reference's wording an answer has, for references without any fact."""
from __future__ import annotations

import itertools
import re
import unicodedata
from functools import lru_cache

from pace_ros.language import language

LONGEST_RUN = 12  # clauses; a longer answer is compared as a whole
_CLAUSE = re.compile(r'[。！？!?；;，,：:…\n]+|\.(?=\s|$)')
_QUESTION = re.compile(r'(?:[^。！？!?…\n.]|\.(?!\s))*[?？]')
_WORD = re.compile(r'[a-z]+')
_HAN = re.compile(r'[^\W\d_]+')
_PLURAL = re.compile(r'(?<=[a-z]{3})(?:ing|ed|es|s)$')
_COMMON_WORDS = (
    'a an the is are was were be been being am do does did it its that this these those there here of to in on at for '
    'with by from as and or but if so than then you your yours we our us i me my they their them he she his her who '
    'what which how when where why can could will would shall should may might must have has had not no yes please '
    'just also very really much more some any all each every s t re ve ll d m'
)
_COMMON = frozenset(_COMMON_WORDS.split())
_COMMON_HAN = re.compile('您好|你好|您|你们|你|我们|我|咱们|的话|的|了|呢|吗|吧|啊|哦|是|也|都|就|在|和|跟|请|这|那')


def without_questions(text: str) -> str:
    """The text without its sentences that ask; all of it where nothing else is left."""
    if '?' not in text and '？' not in text:
        return text
    rest = _QUESTION.sub('', text).strip()
    return rest if any(char.isalnum() for char in rest) else text


@lru_cache(maxsize=65_536)
def overlap(answer: str, reference: str, locale: str) -> float:
    """F1 of the content words of a reference and of the best run of clauses of an answer: 0 to 1.

    Words in languages with spaces, pairs of neighbouring characters in Chinese. The best run, so that a polite opening
    or a further sentence costs nothing.
    """
    spaced = language(locale) != 'zh'
    wanted = words(reference, spaced=spaced)
    clauses = [part for part in _CLAUSE.split(answer) if part.strip()]
    if len(clauses) > LONGEST_RUN:
        clauses = [answer]
    parts = [words(part, spaced=spaced) for part in clauses]
    best = 0.0
    for first in range(len(parts)):
        run: set[str] = set()
        for part in parts[first:]:
            run |= part
            best = max(best, _f1(run, wanted))
    return best


@lru_cache(maxsize=65_536)
def words(text: str, *, spaced: bool) -> frozenset[str]:
    """The content words of a text, without numbers: in English without endings, in Chinese pairs of characters."""
    small = unicodedata.normalize('NFKC', text).lower()
    if spaced:
        found = [each for each in _WORD.findall(small) if each not in _COMMON]
        return frozenset(_PLURAL.sub('', each) for each in found)
    pairs: set[str] = set()
    for part in _HAN.findall(small):
        for piece in _COMMON_HAN.split(part):
            pairs.update(a + b for a, b in itertools.pairwise(piece))
            if len(piece) == 1:
                pairs.add(piece)
    return frozenset(pairs)


def _f1(mine: set[str], theirs: frozenset[str]) -> float:
    both = len(mine & theirs)
    return 2 * both / (len(mine) + len(theirs)) if both else 0.0
