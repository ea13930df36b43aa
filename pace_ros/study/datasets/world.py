"""What is true now: the right answer to every question, while events change it."""
from __future__ import annotations

from collections.abc import Sequence

from pace_ros.language import language, normal_form
from pace_ros.study.datasets.question import Change, DataSet, Question


class World:
    """Starts at the data set's reference answers. One world for the simulated cloud and the judge of a run."""

    def __init__(self, data: DataSet) -> None:
        self._data = data
        self._by_text = {normal_form(each.text): each for each in (*data.paraphrases, *data.seeds)}
        self._editions: dict[tuple[str, str], list[str]] = {}

    def question(self, text: str) -> Question | None:
        """The question that these words ask, None for one that the data set has not."""
        return self._by_text.get(normal_form(text))

    def answer(self, question: Question) -> str:
        """The right answer now."""
        return self.editions(question)[-1]

    def editions(self, question: Question) -> Sequence[str]:
        """All that was ever the right answer, in order; the last one is right now."""
        changed = self._editions.get((question.meaning, language(question.locale)), [])
        return (question.answer, *changed)

    def apply(self, change: Change) -> None:
        """An event happens."""
        for name, answer in change.answers.items():
            self._editions.setdefault((change.meaning, language(name)), []).append(answer)
