"""Answers that are none: an honest *I don't know*, and an apology."""
from __future__ import annotations

import re

_UNKNOWING = re.compile(
    r"(?:do not|don't|don’t|cannot|can't|can’t|could not|couldn't|am not|i'm not|i’m not|not) (?:\w+ )?"
    r'(?:know|sure|certain|say|tell|have (?:that|this|the|any) (?:\w+ )?'
    r'(?:information|details?|data))'
    r"|no (?:information|details?|data) (?:on|about|for)"
    r"|(?:notes|information) (?:do|does)(?: not|n't|n’t) (?:say|mention)"
    r'|不(?:太|是很|大)?(?:清楚|知道|了解|确定)'
    r'|没有(?:这方面的?|相关的?|这个)?(?:信息|资料|数据)|资料里?没有|说不(?:准|好|清)',
    re.IGNORECASE,
)
_APOLOGY = re.compile(
    r"(?:sorry|apolog)[^.!?]*?(?:cannot answer|can't answer|can’t answer|lost my thread|did not catch|didn't catch"
    r"|unavailable|went wrong|try again)|please ask me again|could you (?:say|repeat)"
    r'|答不上来|话被打断了|没听清|再问我一次|暂时无法回答|出了点问题',
    re.IGNORECASE,
)


def is_apology(text: str) -> bool:
    """Whether it only regrets that there is no answer."""
    return _APOLOGY.search(text) is not None


def is_honest(text: str) -> bool:
    """Whether it says that it does not know."""
    return _UNKNOWING.search(text) is not None
