"""Visitors of a showroom: questions of a data set in the prompts that the robot itself would send."""
from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pace_ros.language import count_tokens, language
from pace_ros.llm.completion import Message, estimated_tokens
from pace_ros.llm.history import Exchange, reminded, told
from pace_ros.llm.prompt import PromptBook
from pace_ros.retrieval import KnowledgeEntry, RetrievalHit
from pace_ros.serving.simulator.script import Script, TurnScript, WorkloadError

if TYPE_CHECKING:
    from pace_ros.study.datasets import DataSet, Question


@dataclass(frozen=True)
class Visitors:
    """``turns``: mean (geometric, at most ten times that), ``think``: mean s after an answer has been spoken
    (exponential), ``speech``: s a token of an answer takes to speak. The others are settings of the robot's L2.
    """

    turns: float = 5.0
    think: float = 4.0
    speech: float = 0.25
    layout: str = 'append'
    history: int = 4
    passages: int = 4
    limit: int = 160


def showroom(
    data: DataSet, prompts: PromptBook, count: int, *, seed: int, visitors: Visitors = Visitors()
) -> list[Script]:
    """So many visits; a prompt's tokens are estimated as everywhere in the robot, an answer is the right one. Visits of
    one language open with the persona.

    The passages are the sources of the answer and others of the same topic. Raises WorkloadError for a data set without
    questions.
    """
    if not data.seeds:
        raise WorkloadError(f'Data set {data.name} has no questions to make visits of.')
    chance = random.Random(seed)  # noqa: S311  a workload, no secret
    shelf = _Shelf(data)
    visits = (_Visit(shelf, prompts, visitors, chance) for _ in range(count))
    return [Script(f'visit-{number}', each.turns(), family=each.family, opening=each.opening)
            for number, each in enumerate(visits, start=1)]


class _Shelf:
    """What the robot knows, and what it is asked."""

    def __init__(self, data: DataSet) -> None:
        self._entries = {each.entry_id: each for each in data.knowledge}
        self._topics: dict[str, list[KnowledgeEntry]] = {}
        for each in data.knowledge:
            self._topics.setdefault(each.topic, []).append(each)
        self.questions: dict[str, list[Question]] = {}
        for question in (*data.seeds, *data.paraphrases):
            self.questions.setdefault(question.locale, []).append(question)

    def passages(self, question: Question, count: int, chance: random.Random) -> list[RetrievalHit]:
        """The sources first, then what has the same topic."""
        chosen = [self._entries[each] for each in question.sources if each in self._entries][:count]
        alike = [each for each in self._topics.get(question.topic, []) if each not in chosen]
        chosen += chance.sample(alike, min(len(alike), count - len(chosen)))
        return [RetrievalHit(each, 1.0) for each in chosen]


class _Visit:
    def __init__(self, shelf: _Shelf, prompts: PromptBook, visitors: Visitors, chance: random.Random) -> None:
        self._shelf = shelf
        self._prompts = prompts
        self._visitors = visitors
        self._chance = chance
        self._locale = chance.choice(sorted(shelf.questions))
        self.family = language(self._locale)
        persona = prompts.messages('', self._locale, passages=(), history=(), persona=True)[0]
        self.opening = count_tokens(persona['content'])

    def turns(self) -> tuple[TurnScript, ...]:
        """As many as the visitor stays for."""
        history: list[Exchange] = []
        before: list[Message] = []
        turns: list[TurnScript] = []
        append = self._visitors.layout == 'append'
        for number in range(self._count()):
            question = self._chance.choice(self._shelf.questions[self._locale])
            kept = reminded(history, self._visitors.history, in_blocks=append)
            hits = self._shelf.passages(question, self._visitors.passages, self._chance)
            messages = self._prompts.messages(question.text, self._locale, passages=hits, history=kept, persona=True,
                                              layout=self._visitors.layout)
            turns.append(self._turn(messages, before, turns, question.answer))
            known = set(map(id, told(kept)))
            new = tuple(hit.entry for hit in hits if id(hit.entry) not in known) if append else ()
            history.append(Exchange(question.text, question.answer, messages[-1]['content'], new, number))
            before = [*messages, {'role': 'assistant', 'content': question.answer}]
        return tuple(turns)

    def _turn(
        self, messages: Sequence[Message], before: Sequence[Message], turns: Sequence[TurnScript], answer: str
    ) -> TurnScript:
        tokens, limit = max(1, count_tokens(answer)), self._visitors.limit
        think, shared = 0.0, 0
        if turns:
            shared = min(_shared(before, messages), turns[-1].prompt + turns[-1].answer)
            think = turns[-1].answer * self._visitors.speech + self._chance.expovariate(1.0) * self._visitors.think
        return TurnScript(estimated_tokens(messages), min(tokens, limit), shared=shared, limit=limit, think=think)

    def _count(self) -> int:
        most = round(10 * self._visitors.turns)
        count = 1
        while count < most and self._chance.random() >= 1.0 / self._visitors.turns:
            count += 1
        return count


def _shared(before: Sequence[Message], messages: Sequence[Message]) -> int:
    """Tokens that the prompt has in common with what the server has seen."""
    tokens = 0
    for old, new in zip(before, messages, strict=False):
        if old != new:
            return tokens + count_tokens(_common(old['content'], new['content']))
        tokens += estimated_tokens([new])
    return tokens


def _common(old: str, new: str) -> str:
    """What both begin with."""
    length = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        length += 1
    return new[:length]
