"""Which way a text compares: *is A faster than B* asks something else than *is B faster than A*."""
from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pace_ros.facts.names import Mention, Name

Group = frozenset[frozenset[Name]]  # products that stand side by side, each with its names: the Lark Plus and the Max
_NEAR = re.compile(r"(?:'s)?[\s-]*(?:的)?")  # within one product: Lark Plus, 云雀的旗舰版
_SIDE_BY_SIDE = re.compile(
    r"(?:'s)?[\s,、/&]*(?:(?:and|or|vs\.?|versus|和|与|跟|或|或者|还是|以及|及|对比)\s*)?"
    r'(?:(?:is it|is|the|an?|要|是|选|买)\s*)*'
)
_THAN = re.compile(r'\bthan\b')
_BI = re.compile(r'(?<![对相价好如同])比(?![较例如亚赛价起方重利])')
_WHICH = re.compile('哪|谁|which')
_WORD = re.compile(r'[^\W_]+')
_COMMON = frozenset((
    'the', 'a', 'an', 'is', 'are', 'was', 'were', 'be', 'it', 'its', 'of', 'to', 'do', 'does', 'did', 'more', 'less',
    'much', 'far', 'any', 'how', 'by', 'have', 'has', 'in', 'for', 'with', 'and', 'or', 'one', 'that', 'this', 'why',
    'what', 'which', 'can', 'will', 'would', 'than', 'there', 'car', 'at', 'on',
))


class Compared(NamedTuple):
    """What is compared, and with what: the words before and after *than*, the characters beside 比."""

    what: frozenset[str] = frozenset()
    standard: frozenset[str] = frozenset()


def compared(text: str) -> Compared | None:
    """The two ends of the first comparison in a text in small letters, None if there is none."""
    if 'than' in text and (match := _THAN.search(text)):
        return Compared(_words(text[:match.start()]), _words(text[match.end():]))
    if '比' in text and (match := _BI.search(text)) and match.start() > 0:
        return Compared(_pairs(text[:match.start()]), _pairs(text[match.end():]))
    return None


def turned_round(one: Compared | None, other: Compared | None) -> bool:
    """Whether what one compares is what the other compares with, and the other way round."""
    if one is None or other is None:
        return False
    return bool((one.what - other.what) & (other.standard - one.standard)) and bool(
        (one.standard - other.standard) & (other.what - one.what)
    )


def direction(text: str, mentions: Sequence[Mention]) -> tuple[Group, ...]:
    """The products of a text in their order; those side by side have none. Empty for fewer than two products."""
    if len(mentions) < 2:
        return ()
    products = list(_products(text, mentions))
    if not _share_a_kind({product for product, *_ in products}):
        return ()
    leads = (_THAN.search(text) or _BI.search(text)) and not _WHICH.search(text)
    groups: list[set[frozenset[Name]]] = []
    seen: set[frozenset[Name]] = set()
    last = 0
    for product, start, end in products:
        beside = groups and not leads and _SIDE_BY_SIDE.fullmatch(text, last, start)
        last = end
        if product in seen:
            continue
        seen.add(product)
        if beside:
            groups[-1].add(product)
        else:
            groups.append({product})
    return tuple(frozenset(group) for group in groups)


def _products(text: str, mentions: Sequence[Mention]) -> Iterator[tuple[frozenset[Name], int, int]]:
    """Names that stand together, with their place. The Max in *the Lark Plus and Max* is a Lark, too."""
    before: dict[str, str] = {}
    begun = 0
    while begun < len(mentions):
        first = last = mentions[begun]
        names = dict([first.name])
        begun += 1
        while begun < len(mentions) and mentions[begun].name[0] not in names and _NEAR.fullmatch(
            text, last.end, mentions[begun].start
        ):
            last = mentions[begun]
            names |= dict([last.name])
            begun += 1
        if first.name[0] in before:
            kinds = list(before)
            names = {kind: before[kind] for kind in kinds[:kinds.index(first.name[0])]} | names
        before = names
        yield frozenset(names.items()), first.start, last.end


def _share_a_kind(products: Iterable[frozenset[Name]]) -> bool:
    """Whether two different products have a name of one kind: two models, or the Lark and the Lark Plus."""
    kinds = [kind for product in products for kind, _ in product]
    return len(kinds) > len(set(kinds))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text)) - _COMMON


def _pairs(text: str) -> frozenset[str]:
    """The pairs of neighbouring characters: without spaces between words they stand for words."""
    return frozenset(a + b for a, b in itertools.pairwise(text) if a.isalnum() and b.isalnum())
