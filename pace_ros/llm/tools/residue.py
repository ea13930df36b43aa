"""The last net for tool calls in an answer: whatever still looks like one is not remembered."""
from __future__ import annotations

import re

_RESIDUE = re.compile(
    r'(?:<|&lt;)(?!https?://)[^\s<>]{0,40}(?:tool|function|invoke|parameter=|arg_key)'  # tags and special tokens
    r'|(?-i:\[/?[A-Z_]{0,20}TOOL)'
    r'|\bto=functions\.|\bfunctions\.\w|\bfunctools\['
    r'|["\'](?:arguments|parameters|function_call|tool_calls?|tool_call_id|tool_name|action_input|tool_input)["\']\s*:'
    r'|\bAction Input:|✿FUNCTION✿'
    r'|\b[A-Za-z_]\w*\(\s*[A-Za-z_]\w*\s*=[^=]',  # Python with a keyword
    re.IGNORECASE,
)


def looks_like_a_call(text: str) -> bool:
    """Whether a text holds what may be a tool call or a piece of one: fit to be doubted, not to be taken out."""
    return _RESIDUE.search(text) is not None
