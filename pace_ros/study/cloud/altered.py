"""A plausible untruth: the same sentence with other numbers."""
from __future__ import annotations

import re

# Not part of a name (X5, L-7), a generation (5G) or a later end of a range.
_ARABIC = re.compile(r'(?<![A-Za-z\d.,:-])\d[\d,]*(?:\.\d+)?(?!\d|[GS](?![A-Za-z]))')
_HAN = re.compile(
    r'(?<=百分之)[一二三四五六七八九]|[一二两三四五六七八九](?=[十百千万亿年天座折成点元]|个月|小时|公里)'
)
_HAN_OTHER = dict(zip('一二两三四五六七八九', '二三三四五六七八九八', strict=True))
_ENGLISH_OTHER = {'one': 'two', 'two': 'three', 'three': 'four', 'four': 'five', 'five': 'six', 'six': 'seven',
                  'seven': 'eight', 'eight': 'nine', 'nine': 'eight', 'ten': 'twelve', 'twelve': 'ten'}
_ENGLISH = re.compile(rf'\b(?:{"|".join(_ENGLISH_OTHER)})\b', re.IGNORECASE)


def altered(answer: str, question: str) -> str | None:
    """The answer with its numbers changed, always in the same way; those of the question stay. None without any."""
    kept = set(_ARABIC.findall(question))
    changed = _ARABIC.sub(lambda match: match[0] if match[0] in kept else _other(match[0]), answer)
    if changed == answer:
        changed = _HAN.sub(lambda match: _HAN_OTHER[match[0]], answer)
    if changed == answer:
        changed = _ENGLISH.sub(lambda match: _ENGLISH_OTHER[match[0].lower()], answer)
    return None if changed == answer else changed


def _other(number: str) -> str:
    """Small whole numbers one less, years another, others with another first digit: 36 35, 3.9 4.9, 199,800 299,800."""
    if number.isdigit() and len(number) < 3:
        value = int(number)
        return str(value - 1 if value > 1 else value + 1)
    if number.isdigit() and 1900 <= int(number) < 2100:
        return str(int(number) + 3)
    first = int(number[0])
    return f'{first + 1 if first < 9 else 8}{number[1:]}'
