"""A server may echo the key it was shown: in what is kept of its words the key is hidden, byte for byte."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# Shorter keys are placeholders of servers that want none ('EMPTY', 'none'): no secret, and words of ordinary answers.
SHORTEST = 8


def _spellings(character: str) -> tuple[bytes, ...]:
    """A character of the key as it stands, escaped in a JSON string, or escaped in a URL, as patterns."""
    plain, code = re.escape(character.encode()), f'{ord(character):02x}'.encode()
    return plain, rb'\\' + plain, rb'(?i:\\u00' + code + rb')', rb'(?i:%' + code + rb')'


class _Key:
    """Finds a key by its first ``SHORTEST`` characters and follows it as far as it goes, so that a cut one is found."""

    def __init__(self, key: str) -> None:
        spellings = [_spellings(character) for character in key]
        head = b''.join(rb'(?:' + b'|'.join(each) + rb')' for each in spellings[:SHORTEST])
        self._head = re.compile(rb'(?=' + head + rb')')
        self._characters = [[re.compile(each) for each in patterns] for patterns in spellings]

    def spans(self, body: bytes) -> Iterator[tuple[int, int]]:
        """Where it begins and ends, cut ones and overlapping ones included."""
        for head in self._head.finditer(body):
            begin = head.start()
            ends = {begin}  # a backslash may be a character or the escape of the next one: every reading is followed
            for patterns in self._characters:
                found = {match.end() for end in ends for each in patterns if (match := each.match(body, end))}
                if not found:
                    break
                ends = found
            yield begin, max(ends)


class Redaction:
    """Hides keys of ASCII text. What is hidden keeps its length, so that the places of everything else stay right."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = [_Key(key) for key in sorted(set(keys)) if len(key) >= SHORTEST]

    def body(self, body: bytes) -> bytes:
        """The bytes with an asterisk for every byte of a key, also of one that the end of the body cuts."""
        hidden = bytearray(body)
        for key in self._keys:
            for begin, end in key.spans(body):
                hidden[begin:end] = b'*' * (end - begin)
        return bytes(hidden)

    def text(self, text: str) -> str:
        """The text with an asterisk for every character of a key."""
        return self.body(text.encode('utf-8', errors='surrogatepass')).decode('utf-8', errors='surrogatepass')

    def chunks(self, chunks: Iterable[bytes]) -> tuple[bytes, ...]:
        """The chunks of one body, each of its own length; a key is found wherever it is cut."""
        parts = list(chunks)
        body, hidden, begin = self.body(b''.join(parts)), [], 0
        for part in parts:
            hidden.append(body[begin : begin + len(part)])
            begin += len(part)
        return tuple(hidden)
