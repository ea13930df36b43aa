"""Server-sent events from raw bytes (WHATWG HTML, section 9.2), one ``data`` payload at a time."""
from __future__ import annotations

import re

# Only CR LF, LF and CR end a line; U+2028, U+2029 and U+0085 are legal inside JSON.
_LINE_END = re.compile(rb'\r\n|\n|\r')
_BOM = b'\xef\xbb\xbf'
MAX_EVENT_BYTES = 1 << 22


class SseOverflow(ValueError):
    """One event is larger than any answer could be."""


class SseParser:
    """Feed it the bytes as they come; lines, events and UTF-8 sequences may be cut anywhere."""

    def __init__(self) -> None:
        self._pending = b''
        self._data: list[bytes] = []
        self._size = 0
        self._at_start = True
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[str]:
        """Take the next bytes and return the payloads of the events they complete. Raises SseOverflow."""
        self._pending += chunk
        if self._at_start:
            if _BOM.startswith(self._pending) and self._pending != _BOM:
                return []
            self._pending = self._pending.removeprefix(_BOM)
            self._at_start = False
        if self._after_cr and self._pending:  # the LF of a CR LF that was cut
            self._pending = self._pending.removeprefix(b'\n')
            self._after_cr = False
        payloads: list[str] = []
        start = 0
        for match in _LINE_END.finditer(self._pending):
            self._line(self._pending[start : match.start()], payloads)
            start = match.end()
        self._after_cr = self._after_cr or self._pending.endswith(b'\r')
        self._pending = self._pending[start:]
        if len(self._pending) + self._size > MAX_EVENT_BYTES:
            raise SseOverflow(f'an event exceeds {MAX_EVENT_BYTES} bytes')
        return payloads

    def flush(self) -> list[str]:
        """Return the last event of a stream that ended without its blank line."""
        payloads: list[str] = []
        self._line(self._pending, payloads)
        self._line(b'', payloads)
        self._pending = b''
        return payloads

    def _line(self, line: bytes, payloads: list[str]) -> None:
        if not line:
            if self._data:
                payloads.append(b'\n'.join(self._data).decode('utf-8', errors='replace'))
                self._data, self._size = [], 0
            return
        name, _, value = line.partition(b':')
        if name == b'data':  # a comment has an empty name; event, id and retry say nothing here
            self._data.append(value.removeprefix(b' '))
            self._size += len(value) + 1
