"""What a language model is asked when it judges: the rubric of the language, a question, its reference, an answer."""
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pace_ros.language import language
from pace_ros.llm import Message
from pace_ros.study.judging.blinding import Blinded
from pace_ros.study.judging.error import JudgingError

LABELS = {'zh': ('问题', '参考答案', '回答', '分数'), 'en': ('Question', 'Reference', 'Answer', 'Grade')}
AGAIN = {'zh': '请只回复1到5的一个数字。', 'en': 'Reply with one digit from 1 to 5 and nothing else.'}
_SCORE = re.compile(r'\s*([1-5])(?=\s|$|[,;:!)，。；：、！]|\.(?!\d)|-\D)')


class Rubric:
    """The rubrics by language; that of English serves for every other one."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = dict(texts)

    @classmethod
    def read(cls, folder: Path) -> Rubric:
        """Read ``rubric.zh.md`` and ``rubric.en.md``. Raises JudgingError naming the file."""
        return cls({name: _text(folder / f'rubric.{name}.md') for name in LABELS})

    def messages(self, item: Blinded) -> list[Message]:
        """The conversation that asks for the score of one answer."""
        name = language(item.locale) if language(item.locale) in self._texts else 'en'
        labels = LABELS[name]
        parts = zip(labels, (item.question, item.reference, item.answer, ''), strict=True)
        asked = '\n'.join(f'{label}：{text}' if name == 'zh' else f'{label}: {text}'.rstrip() for label, text in parts)
        return [{'role': 'system', 'content': self._texts[name]}, {'role': 'user', 'content': asked}]

    def again(self, item: Blinded, reply: str) -> list[Message]:
        """The conversation after a reply that was no score."""
        reminder = AGAIN.get(language(item.locale), AGAIN['en'])
        said = {'role': 'assistant', 'content': reply or '-'}
        return [*self.messages(item), said, {'role': 'user', 'content': reminder}]


def parse_score(reply: str) -> int | None:
    """The score that a reply opens with; None for anything else: 6, 4.5, 4/5, *I would say 4*."""
    match = _SCORE.match(reply)
    return int(match.group(1)) if match else None


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding='utf-8').strip()
    except (OSError, UnicodeDecodeError) as error:
        raise JudgingError(f'The rubric {path} cannot be read: {error}.') from error
    if not text:
        raise JudgingError(f'The rubric {path} is empty.')
    return text
