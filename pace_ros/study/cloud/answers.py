"""What the simulated cloud says: the truth where it has been shown or knows it, else what a model would make up."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pace_ros.language import detect_locale, language, normal_form
from pace_ros.retrieval import KnowledgeEntry
from pace_ros.study.cloud.altered import altered
from pace_ros.study.cloud.draw import generator
from pace_ros.study.cloud.settings import CloudSettings
from pace_ros.study.datasets.question import DataSet, Question
from pace_ros.study.datasets.world import World

OPENERS = {'zh': ('', '您好，', '是这样的，', '关于您问的，', '我来介绍一下，'),
           'en': ('', 'Sure. ', 'Glad you ask. ', 'Here it is: ', 'Let me explain: ')}
CLOSERS = {'zh': ('', '', '如果还想了解别的，随时问我。', '需要的话我再为您详细介绍。', '欢迎您到车前慢慢看。'),
           'en': ('', '', ' Feel free to ask me anything.', ' I am happy to explain.', ' Do look around at your ease.')}
UNKNOWN = {'zh': '这个问题我还答不上来，麻烦您问问旁边的同事。',
           'en': 'I cannot answer that, but my colleagues here will help you.'}
UNSURE = {'zh': '抱歉，这一点我不太清楚，请向展厅顾问核实。',
          'en': 'Sorry, I do not know exactly; please ask one of the advisers.'}
STOPS = {'zh': '。', 'en': '.'}
TRIES = 20  # other answers looked at before an untruth is given up


def texts_of(knowledge: Iterable[KnowledgeEntry]) -> dict[str, tuple[str, ...]]:
    """What the entries state, by their id: what a prompt shows of them."""
    return {each.entry_id: tuple(each.answers.values()) for each in knowledge}


class Answers:
    """Speaks from a ``world``. ``texts`` are what the knowledge entries state, by id; default: those of the data set.

    A question that the world knows is answered right where a text of its sources is in the system message, where it is
    volatile and the cloud looks up live facts, and for a share of the meanings that the model knows by itself: as it
    was at the beginning. Else the answer has another number in it, or is another question's, or admits ignorance; for
    one meaning always the same of these.
    """

    def __init__(self, data: DataSet, world: World, texts: Mapping[str, Sequence[str]] | None = None) -> None:
        self._world = world
        self._texts = texts_of(data.knowledge) if texts is None else texts
        self._topics: dict[tuple[str, str], list[Question]] = {}
        for each in data.seeds:
            for topic in {each.topic, ''}:
                self._topics.setdefault((language(each.locale), topic), []).append(each)

    def reply(self, messages: Sequence[Mapping[str, str]], settings: CloudSettings, *, seed: int, chance: float) -> str:
        """The answer to a chat; ``chance`` in [0, 1) chooses its wording."""
        text = next((each['content'] for each in reversed(messages) if each['role'] == 'user'), '')
        question = self._world.question(text)
        if question is None:
            return UNKNOWN[_tongue(detect_locale(text, 'en'))]
        shown = '\n'.join(each['content'] for each in messages if each['role'] == 'system')
        right = self._informed(question, shown, settings)
        if right is not None:
            return _worded(right, question, chance)
        knows, admits, which = generator(seed, 'knows', question.meaning).random(3).tolist()
        if knows < settings.knows:
            return _worded(_stated(question, self._world.editions(question)[0]), question, chance)
        untrue = None if admits < settings.admits else self._untrue(question, which)
        return UNSURE[_tongue(question.locale)] if untrue is None else _worded(untrue, question, chance)

    def _informed(self, question: Question, shown: str, settings: CloudSettings) -> str | None:
        """The right answer if there is evidence for one: what is true now, or the edition that the prompt states."""
        editions = self._world.editions(question)
        if question.volatile and settings.live_facts:
            return _stated(question, editions[-1])
        for edition in reversed(editions):
            if len(editions) > 1 and edition in shown:
                return _stated(question, edition)
        evidence = any(text in shown for source in question.sources for text in self._texts.get(source, ()) if text)
        return _stated(question, editions[-1]) if evidence else None

    def _untrue(self, question: Question, which: float) -> str | None:
        right = [normal_form(each) for each in (*question.accepted, *self._world.editions(question))]
        candidate = altered(_stated(question, question.answer), question.text)
        if candidate is not None and not _says_any(candidate, right):
            return candidate
        tongue = language(question.locale)
        others = self._topics.get((tongue, question.topic)) or self._topics.get((tongue, ''), [])
        start = int(which * len(others))
        for other in (others[start:] + others[:start])[:TRIES]:
            if other.meaning != question.meaning and not _says_any(other.answer, right):
                return other.answer
        return None


def _tongue(locale: str) -> str:
    return 'zh' if language(locale) == 'zh' else 'en'


def _stated(question: Question, answer: str) -> str:
    """The answer in full; of an extractive set with an accepted text in it."""
    if not question.accepted or any(each in answer for each in question.accepted):
        return answer
    return question.accepted[0]


def _says_any(text: str, truths: Sequence[str]) -> bool:
    form = normal_form(text)
    return any(truth and truth in form for truth in truths)


def _worded(answer: str, question: Question, chance: float) -> str:
    """One of some natural wordings; all facts stay."""
    tongue = _tongue(question.locale)
    openers, closers = OPENERS[tongue], CLOSERS[tongue]
    opener, closer = divmod(int(chance * len(openers) * len(closers)), len(closers))
    answer = answer.strip()
    stop = STOPS[tongue] if answer[-1:].isalnum() else ''
    return f'{openers[opener]}{answer}{stop}{closers[closer]}'
