"""A data set of one's own."""
from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros.study.datasets import DataSetError, load

SMALL = """\
{"question": "How long is the warranty?", "answer": "Five years.", "paraphrases": ["What of the warranty?"]}

{"question": "多少钱？", "answer": "十万元。",\
 "accepted": ["十万"], "passage": "价格表", "volatile": true, "topic": "price", "id": "p"}
{"question": "Wie teuer?", "answer": "Viel.", "locale": "de-DE", "meaning": "p"}
"""


def written(folder: Path, text: str) -> str:
    path = folder / 'showroom.jsonl'
    path.write_text(text, encoding='utf-8')
    return str(path)


def test_a_small_file(tmp_path: Path) -> None:
    data = load(written(tmp_path, SMALL))
    assert data.name == 'showroom'
    warranty, price, german = data.seeds
    assert (warranty.text, warranty.locale, warranty.answer) == ('How long is the warranty?', 'en-US', 'Five years.')
    assert [(each.text, each.kind) for each in data.paraphrases if each.meaning == warranty.meaning] == [
        ('What of the warranty?', 'paraphrase')]
    assert (price.locale, price.volatile, price.accepted, price.topic) == ('zh-CN', True, ('十万',), 'price')
    assert price.sources == ('passage-p',)
    assert (german.locale, german.meaning) == ('de-DE', price.meaning)
    assert [each.entry_id for each in data.knowledge] == ['faq-q1', 'passage-p']


@pytest.mark.parametrize(('line', 'message'), [
    ('{"question": "q"}', "line 1, field 'answer': is missing"),
    ('{"question": "q", "answer": "a", "paraphrase": []}', "line 1, field 'paraphrase': there is no such field, only"),
    ('{"question": "q", "answer": "a", "volatile": 1}', "line 1, field 'volatile': must be true or false"),
    ('{"question": "q", "answer": "a", "locale": "english!"}', "line 1, field 'locale': must be a tag"),
    ('', 'no question with an answer'),
])
def test_what_is_wrong_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataSetError, match=message):
        load(written(tmp_path, line))
