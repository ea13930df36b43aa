"""Light paraphrases: of the shape that visitors give a question, the same ones every time."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.study.datasets.derived import derived


@pytest.mark.parametrize(('text', 'locale', 'opener', 'polite', 'bare'), [
    ('锣鼓经，是什么？', 'zh-CN', '锣鼓经，是什么？', '锣鼓经，是什么', '锣鼓经是什么'),
    ('好的，嗯，故宫在哪啊？', 'zh-CN', '故宫在哪啊？', '故宫在哪啊', '故宫在哪啊'),
    ("Who, in 3.5 years, was John's heir?", 'en-US', "who, in 3.5 years, was John's heir?",
     "o, in 3.5 years, was John's heir", "Who in 3.5 years was John's heir"),
    ('Gauss: who?', 'en-US', 'Gauss: who?', 'Gauss: who', 'Gauss who'),
])
def test_known_wordings(text: str, locale: str, opener: str, polite: str, bare: str) -> None:
    opened, politely, unpunctuated = derived(text, locale)
    assert opened.endswith(opener)
    assert opened != opener
    assert polite in politely
    assert politely != polite
    assert unpunctuated == bare


@given(text=st.text(st.characters(blacklist_categories=['Cs']), min_size=1), locale=st.sampled_from(['zh-CN', 'en-US']))
def test_any_text_has_the_same_three_wordings_every_time(text: str, locale: str) -> None:
    once = list(derived(text, locale))
    assert len(once) == 3
    assert once == list(derived(text, locale))
