from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pace_ros.cache.entry import CacheEntry, Source, StoredEntry
from pace_ros.cache.exchange import entry_of, line_of

texts = st.text(st.characters(exclude_categories=['Cs'], exclude_characters='\0'), min_size=1).filter(str.strip)
times = st.floats(0.0, 1e10)


@given(
    question=texts, answer=texts, scope=texts, reason=st.text(max_size=5), written=times,
    life=st.none() | st.floats(1.0, 1e9), sources=st.lists(st.builds(Source, texts, texts), max_size=3),
)
def test_what_is_written_is_read(
    question: str, answer: str, scope: str, reason: str, written: float, life: float | None, sources: list[Source]
) -> None:
    expires = None if life is None else written + life
    entry = CacheEntry(question, answer, scope, tuple(sources), written, expires, reason)
    line = line_of(StoredEntry(3, entry, 2, written))
    assert '\n' not in line
    assert entry_of(line, written) == entry


def test_what_is_not_said_of_an_entry_is_neither_cached_knowledge_nor_an_end() -> None:
    assert entry_of('{"question": "q", "answer": "a", "scope": "en"}', 5.0) == CacheEntry('q', 'a', 'en', (), 5.0, None)
