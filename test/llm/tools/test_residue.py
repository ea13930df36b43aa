"""What still looks like a tool call is doubted, ordinary answers are not."""
from __future__ import annotations

import pytest

from pace_ros.llm.tools.residue import looks_like_a_call


@pytest.mark.parametrize('text', [
    'Well. <tool_call>', '</function>', '<｜DSML｜invoke name="price">', '<seed:tool_call>', '<parameter=model>',
    '&lt;tool_call&gt;', '[TOOL_CALLS]', 'commentary to=functions.price json', 'functions.price:0', 'functools[',
    '{"name": "price", "arguments": {}}', "{'tool_name': 'price'}", 'Action: price\nAction Input: x',
    'get_price(model="Lark")', '<|tool_call_start|>',
])
def test_what_looks_like_a_call(text: str) -> None:
    assert looks_like_a_call(text)


@pytest.mark.parametrize('text', [
    'It costs 12,400 euros.', 'Our tools and functions are many.', '3 < 5 and <b>bold</b>', 'the price(s) and f(x)',
    '{"name": "Lark", "price": 5}', '[1], [tools](https://shop.example)', 'Call us (tel = 5).', 'a(b == c)', '',
])
def test_what_does_not(text: str) -> None:
    assert not looks_like_a_call(text)
