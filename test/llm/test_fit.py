"""Text is made fit for UTF-8."""
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pace_ros.llm.fit import fit


def test_what_is_unfit_is_replaced() -> None:
    assert fit('12,000 \ud83d€') == '12,000 \ufffd€'
    assert fit('a\0b') == 'ab'
    assert fit('\U0001f600 你好') == '\U0001f600 你好'
    assert fit(None) == fit(5) == ''


@given(st.text(alphabet=st.one_of(st.characters(), st.characters(categories=['Cs']))))
def test_any_text_can_be_written_then(text: str) -> None:
    assert fit(text).encode().decode() == fit(text)
