"""A data set of one's own: a JSONL file, one question with its answer a line.

    {"question": "How long is the warranty?", "answer": "Five years.", "paraphrases": ["What about the warranty?"]}

``question`` and ``answer`` are needed. Besides, all optional: ``paraphrases``, a list of other wordings (without any,
light ones are derived); ``locale``, such as zh-CN or en-US (else by the script of the question); ``volatile``, true if
the answer changes with time; ``accepted``, short texts of which a right answer contains one (else it must state the
facts of ``answer``); ``passage``, a text that informs the language model; ``topic``; ``meaning``, the same for a
question and its translation; ``id``. Other fields are refused, as a misspelt one would be lost unseen.
"""
from __future__ import annotations

from pathlib import Path

from pace_ros.language import detect_locale, is_locale, language
from pace_ros.retrieval import KnowledgeEntry
from pace_ros.study.datasets.compose import Item, compose, passage
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.datasets.rows import Row, json_lines

FIELDS = frozenset({'question', 'answer', 'paraphrases', 'locale', 'volatile', 'accepted', 'passage', 'topic',
                    'meaning', 'id'})


def load(path: Path) -> DataSet:
    """The data set in a file, named after it. Raises DataSetError."""
    items, passages = [], []
    for number, row in enumerate(json_lines(path), start=1):
        unknown = sorted(set(row.fields) - FIELDS)
        if unknown:
            raise row.refused(unknown[0], f'there is no such field, only {", ".join(sorted(FIELDS))}')
        item, informing = _item(row, f'q{number}')
        items.append(item)
        passages += informing
    return compose(path.stem, items, passages)


def _item(row: Row, default: str) -> tuple[Item, list[KnowledgeEntry]]:
    text = row.text('question')
    locale = row.text('locale') if 'locale' in row.fields else detect_locale(text, 'en-US')
    if not is_locale(locale):
        raise row.refused('locale', f'must be a tag such as zh-CN, not {locale!r}')
    key = row.text('id') if 'id' in row.fields else default
    informing = []
    if 'passage' in row.fields:
        informing.append(passage(f'passage-{key}', {language(locale): row.text('passage')}))
    seed = Question(
        key, text, locale, row.text('meaning') if 'meaning' in row.fields else key, row.text('answer'),
        volatile=row.flag('volatile', default=False), topic=row.text('topic') if 'topic' in row.fields else '',
        accepted=row.texts('accepted'), sources=tuple(each.entry_id for each in informing),
    )
    return Item(seed, tuple(('paraphrase', each) for each in row.texts('paraphrases'))), informing
