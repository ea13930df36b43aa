"""What the rooms need to know of written language: locale, normal form, sentences, small chunks."""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

_HAN = re.compile(r'[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]')
_HAN_LANGUAGES = ('zh', 'yue', 'ja', 'ko')
_LATIN = re.compile(r'[A-Za-z]')
_LOCALE = re.compile(r'[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,4}')
_EDGES = ' \t\r\n.,!?;:。，！？；：、…～~'
# A sentence ends at Chinese or full-width punctuation, at a line end, or at Latin punctuation before white space
# (so that "3.5" and "No.5" stay whole).
_SENTENCE_END = re.compile(r'[。！？；!?…]+["”’」』)）]*|\.(?=\s)|[;](?=\s)|\n+')
_CLAUSE_END = re.compile(r'[，、：]|[,:](?=\s)')
# "No." is a number inside a sentence only; a number that opens a sentence counts a list.
_ABBREVIATION = re.compile(
    r'(?:\b(?:Mr|Mrs|Ms|Dr|vs|approx|e\.g|i\.e|[ap]\.m)|(?<=[\w,] )(?-i:No)|^\W*\d+)\.$', re.IGNORECASE
)


def detect_locale(text: str, default: str) -> str:
    """The locale a text is written in: zh-CN with any Han character, en-US with Latin letters, else ``default``."""
    if _HAN.search(text):
        return 'zh-CN'
    return 'en-US' if _LATIN.search(text) else default


def spoken_locale(text: str, locale: str) -> str:
    """The locale whose voice can read a sentence: ``locale``, unless the sentence is in the other script. A language
    model may answer in another language than it was asked in, and an English voice spells Chinese out.
    """
    if _HAN.search(text):
        return locale if language(locale) in _HAN_LANGUAGES else 'zh-CN'
    return 'en-US' if language(locale) == 'zh' and _LATIN.search(text) else locale


def is_locale(tag: str) -> bool:
    """Whether a text has the shape of a BCP 47 tag, such as zh-CN or en."""
    return _LOCALE.fullmatch(tag) is not None


def language(locale: str) -> str:
    """The primary language subtag in lower case: ``zh`` of ``zh-CN``."""
    return locale.replace('_', '-').split('-', 1)[0].lower()


def normal_form(text: str) -> str:
    """The form in which two utterances are the same: NFKC, lower case, single spaces, no outer punctuation."""
    return ' '.join(unicodedata.normalize('NFKC', text).casefold().split()).strip(_EDGES)


def normal_forms(texts: Iterable[str]) -> tuple[str, ...]:
    """The normal forms of some texts, without those of which nothing is left."""
    return tuple(form for text in texts if (form := normal_form(text)))


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: white space, control and format characters only."""
    return all(unicodedata.category(char)[0] in 'CZ' for char in text)


def is_encodable(text: str) -> bool:
    """Whether a text can be written as UTF-8, i.e. has no lone surrogate, and no NUL."""
    try:
        text.encode('utf-8')
    except UnicodeEncodeError:
        return False
    return '\0' not in text


def chunks(text: str, size: int) -> Iterator[str]:
    """Cut a text into pieces of about ``size`` characters, at white space where there is some; joined they are it."""
    start = 0
    while len(text) - start > size:
        cut = text.rfind(' ', start + 1, start + size) + 1
        end = cut if cut > start + size // 2 else start + size
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


class SentenceSplitter:
    """Turns a stream of text into sentences fit for speaking, as early as each is complete.

    A sentence longer than ``longest`` characters is cut at its last clause end, so that speech can begin.
    """

    def __init__(self, longest: int = 90) -> None:
        self._longest = longest
        self._rest = ''

    def feed(self, text: str) -> list[str]:
        """Take the next piece of the stream and return the sentences it completes."""
        self._rest += text
        sentences: list[str] = []
        position = 0
        while match := _SENTENCE_END.search(self._rest, position):
            if match.end() == len(self._rest) and match.group()[-1] in '!?…':
                break  # more of the same punctuation, or a closing quote, may follow
            if _ABBREVIATION.search(self._rest[: match.end()]):
                position = match.end()
                continue
            self._take(match.end(), sentences)
            position = 0
        if len(self._rest) > self._longest:
            ends = [match.end() for match in _CLAUSE_END.finditer(self._rest)]
            if ends:
                self._take(ends[-1], sentences)
        return sentences

    def flush(self) -> list[str]:
        """Return what is left, at the end of the stream."""
        sentences: list[str] = []
        self._take(len(self._rest), sentences)
        return sentences

    def _take(self, end: int, sentences: list[str]) -> None:
        sentence, self._rest = self._rest[:end].strip(), self._rest[end:]
        if any(char.isalnum() for char in sentence):
            sentences.append(sentence)


def count_tokens(text: str) -> int:
    """About how many tokens a text has: one a Han character, one for four others (an estimate, no tokenizer)."""
    han = len(_HAN.findall(text))
    return han + (len(text) - han + 3) // 4
