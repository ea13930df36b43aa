"""Text that can be written as UTF-8."""
from __future__ import annotations

import re

_UNFIT = re.compile('[\ud800-\udfff]')


def fit(text: object) -> str:
    """What is text, without NUL and with U+FFFD for every lone surrogate; what is none is empty."""
    return _UNFIT.sub('\ufffd', text).replace('\0', '') if isinstance(text, str) else ''
