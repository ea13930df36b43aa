"""The ways in which a call may begin are those the documentation lists."""
from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros.llm.tools.markup import Kind
from pace_ros.llm.tools.openings import Openings

DOCS = Path(__file__).parents[3] / 'docs' / 'tools.md'


def test_the_documentation_lists_every_row() -> None:
    listed = ' '.join(DOCS.read_text(encoding='utf-8').split())
    assert [row.shown for row in Openings(()).rows if f'- {row.shown}' not in listed] == []


@pytest.mark.parametrize(('text', 'kind'), [
    ('<tool_call>', Kind.CALL), ('<tool_c', Kind.WAIT), ('<b>', None), ('<tooltip>', None), ('</tool_call>', Kind.MARK),
    ('<tool_response>', Kind.ASIDE), ('<|im_end|>', Kind.MARK), ('[TOOL_CALLS]', Kind.CALL), ('[tools](', None),
    ('```tool_code\nx', Kind.CALL), ('```sh\nls -l', None), ('```', Kind.WAIT), ('{"name": "x"', Kind.WAIT),
    ('{"name": "x"}', None), ('{"name": "x", "args": {}}', Kind.CALL), ('{"colour":', None),
    ('price(m', Kind.WAIT), ('price(m=1', Kind.CALL), ('price(m)', None), ('price()', Kind.CALL), ('prize', None),
    ('price({', Kind.WAIT), ('price({"model', Kind.CALL), ('price({m', None),
    ('`price(m=1', Kind.CALL), ('`price`', None),
    ('<price>', Kind.CALL), ('<price model=', Kind.CALL), ('<pri', Kind.WAIT), ('<prices>', None),
    ('</price>', Kind.MARK),
    ('call:price{', Kind.CALL), ('call:pri', Kind.WAIT), ('call:prize{', None), ('Action: price[Lark]', Kind.CALL),
    ('price[1]', None), ('{"tool": "price", "x": 1}', Kind.CALL), ('{"tool": "jack", "x": 1}', None),
    ('{"name": "price", "x": 1}', None),
])
def test_what_begins_a_text(text: str, kind: Kind | None) -> None:
    found = Openings(('price',)).found(text, final=False)
    assert (found.kind if found else None) is kind
