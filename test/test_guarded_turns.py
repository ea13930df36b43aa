"""Whole turns past the guards: what one visitor was told is given to another only where it is right for them, too."""
from __future__ import annotations

from pathlib import Path as FilePath

import pytest
from harness import open_house
from support import Script, answer, scripted_cloud

from pace_ros.cache import Verdict
from pace_ros.embedding import Embedder, Vector
from pace_ros.live_turn import LiveTurn
from pace_ros.turn import Outcome, Path

pytestmark = pytest.mark.anyio
KEEP = {'volatility.policy': 'off'}  # also what was answered with volatile passages at hand
YES, NO = answer('Yes, it is.'), answer('No, it is not.')


@pytest.fixture
def folder(tmp_path: FilePath) -> FilePath:
    return tmp_path / 'house'


async def test_a_question_that_differs_in_a_fact_is_no_hit(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(YES) as cloud, open_house(
        folder, embedder, cloud, {'router.theta_cache': 0.6, **KEEP}
    ) as house:
        first = await house.ask('Does the Lark have 8 airbags in the cabin?')
        assert (first.admitted, first.scope) == (True, 'en')
        for question, what in [
            ('Does the Heron have 8 airbags in the cabin?', 'names'),
            ('Does the Lark have 6 airbags in the cabin?', 'quantities'),
        ]:
            record = await house.ask(question, 'other')
            assert (record.path, record.cache_score > 0.6) == (Path.L2, True), question
            assert f'l0 1: {what}' in record.refused
        same = await house.ask('Does the Lark have eight airbags in the cabin?', 'third')
        assert (same.path, same.cached_question) == (Path.L0, first.text)


async def test_the_next_candidate_is_tried(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(YES) as cloud, open_house(
        folder, embedder, cloud, {'router.theta_cache': 0.8, **KEEP}
    ) as house:
        paraphrase = 'In the cabin of the Lark, are there 8 airbags all in all?'
        await house.ask('Does the Lark have 6 airbags in the cabin?', 'a')
        await house.ask(paraphrase, 'b')
        record = await house.ask('Does the Lark have 8 airbags in the cabin?', 'c')
        assert (record.path, record.cached_question) == (Path.L0, paraphrase)
        assert record.refused == ('l0 1: quantities',), 'the nearer one asks for another number'


async def test_without_the_guard_similarity_alone_decides(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(YES) as cloud, open_house(
        folder, embedder, cloud, {'guards.facts': False, 'router.theta_cache': 0.9, **KEEP}
    ) as house:
        await house.ask('Does the Lark have 8 airbags in the cabin?')
        assert (await house.ask('Does the Lark have 6 airbags in the cabin?')).path is Path.L0


@pytest.mark.parametrize(('introduction', 'question', 'locale'), [
    ('Tell me about the {}.', 'Is it fully electric?', 'en'),
    ('给我介绍一下{}。', '它是纯电的吗？', 'zh'),
])
async def test_a_leaning_question_is_shared_only_by_those_who_speak_of_the_same(
    folder: FilePath, embedder: Embedder, introduction: str, question: str, locale: str
) -> None:
    lark, bison = ('Lark', 'Bison') if locale == 'en' else ('云雀', '北野')
    async with scripted_cloud(answer('Certainly.'), YES, answer('Certainly.'), NO) as cloud, open_house(
        folder, embedder, cloud
    ) as house:
        await house.ask(introduction.format(lark), 'a')
        first = await house.ask(question, 'a')
        assert (first.path, first.admitted, first.scope) == (Path.L2, True, f'{locale} model=lark')
        await house.ask(introduction.format(bison), 'b')
        other = await house.ask(question, 'b')
        assert (other.path, other.scope) == (Path.L2, f'{locale} model=bison')
        assert other.answer == 'No, it is not.'
        assert (await house.ask(introduction.format(lark), 'c')).path is Path.L0
        again = await house.ask(question, 'c')
        assert (again.path, again.answer) == (Path.L0, 'Yes, it is.')


async def test_an_answer_given_without_the_subject_is_not_kept_under_it(folder: FilePath, embedder: Embedder) -> None:
    refused = Script([b'{}'], status=413)
    async with scripted_cloud(answer('Certainly.'), refused, YES) as cloud, open_house(
        folder, embedder, cloud
    ) as house:
        await house.ask('Tell me about the Lark.')
        record = await house.ask('Is it fully electric?')
        assert (record.path, record.answer, record.scope) == (Path.L2, 'Yes, it is.', 'en model=lark')
        assert (record.admitted, record.admission_reason) == (False, 'its history was cut')
        assert len(house.cache) == 1


async def test_where_no_subject_is_known_nothing_is_recalled_nor_kept(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(YES) as cloud, open_house(folder, embedder, cloud) as house:
        for conversation in 'ab':
            record = await house.ask('How much is that one?', conversation)
            assert (record.path, record.admitted, record.scope) == (Path.L2, False, '')
            assert record.scope_reason == record.admission_reason
            assert 'leans on a subject' in record.scope_reason
        assert len(house.cache) == 0


async def test_without_the_guard_of_scope_the_words_alone_count(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(YES) as cloud, open_house(
        folder, embedder, cloud, {'guards.scope': False, 'volatility.policy': 'off'}
    ) as house:
        assert (await house.ask('How much is that one?', 'a')).admitted
        assert (await house.ask('How much is that one?', 'b')).path is Path.L0


async def test_an_answer_that_speaks_of_another_subject_is_not_kept(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(answer('Certainly.'), answer('No, but the Heron is.')) as cloud, open_house(
        folder, embedder, cloud
    ) as house:
        await house.ask('Tell me about the Bison.')
        record = await house.ask('Is it fully electric?')
        assert (record.scope, record.admitted) == ('en model=bison', False)
        assert record.admission_reason == 'it names another subject'


async def test_the_subject_is_what_the_model_is_reminded_of(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(YES) as cloud, open_house(
        folder, embedder, cloud, {'l2.history_turns': 0}
    ) as house:
        await house.ask('Tell me about the Lark.')
        record = await house.ask('Is it fully electric?')
        assert (record.scope, record.admitted) == ('', False), 'the model does not know what "it" is'


@pytest.mark.parametrize(('told', 'question'), [
    ('My name is Fang Wang.', 'Is there a coffee bar?'),
    ('我叫王芳。', '有没有咖啡？'),
    ('My phone number is 138 0013 8000.', 'Is there a coffee bar?'),
])
async def test_what_a_visitor_said_of_themselves_reaches_no_other(
    folder: FilePath, embedder: Embedder, told: str, question: str
) -> None:
    async with scripted_cloud(answer('Of course, Ms Wang.')) as cloud, open_house(folder, embedder, cloud) as house:
        first = await house.ask(told, 'a')
        later = await house.ask(question, 'a')
        assert [each.admission_reason.startswith('personal: ') for each in (first, later)] == [True, True]
        assert len(house.cache) == 0
        assert (await house.ask(question, 'b')).path is Path.L2


async def test_a_guard_switched_off_keeps_personal_answers(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(YES) as cloud, open_house(folder, embedder, cloud, {'guards.personal': False}) as house:
        assert (await house.ask('My name is Fang Wang.')).admitted


UNSURE = answer('I do not know that, please ask an adviser.')


async def test_an_answer_that_knows_nothing_reaches_no_other(folder: FilePath, embedder: Embedder) -> None:
    async with scripted_cloud(UNSURE) as cloud, open_house(folder, embedder, cloud) as house:
        first = await house.ask('Is there a coffee bar?', 'a')
        assert first.admission_reason.startswith('it does not know: line ')
        assert (await house.ask('Is there a coffee bar?', 'b')).path is Path.L2


async def test_a_guard_switched_off_keeps_what_knows_nothing(folder: FilePath, embedder: Embedder) -> None:
    settings = {'guards.unknowing': False}
    async with scripted_cloud(UNSURE) as cloud, open_house(folder, embedder, cloud, settings) as house:
        assert (await house.ask('Is there a coffee bar?')).admitted


async def test_rules_by_class_and_language(folder: FilePath, embedder: Embedder) -> None:
    rules = ['price=ttl:60', 'zh/price=deny', 'stable=ttl:600']
    async with scripted_cloud(YES) as cloud, open_house(
        folder, embedder, cloud, {'volatility.rules': rules}
    ) as house:
        english = await house.ask('What is the price of a sandwich?', 'a')
        assert (english.admitted, english.admission_reason) == (True, 'price: ttl 60 s')
        assert (await house.ask('What is the price of a sandwich?', 'b')).path is Path.L0
        chinese = await house.ask('三明治的价格是多少？', 'c')
        assert (chinese.admitted, chinese.admission_reason) == (False, 'price: deny')
        stable = await house.ask('Tell me a story about a lighthouse.', 'd')
        assert stable.admission_reason == 'stable: ttl 600 s'


class ByVector:
    """A classifier that judges by the vector alone; it calls everything volatile."""

    needs_vector = True

    def __init__(self) -> None:
        self.given: list[Vector | None] = []

    def classify(self, question: str, locale: str, vector: Vector | None = None) -> Verdict:
        self.given.append(vector)
        return Verdict(True, 'looks like it', 'learned')


async def test_a_classifier_that_needs_the_vector_gets_the_one_of_the_turn(
    folder: FilePath, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted_cloud(YES) as cloud, open_house(folder, embedder, cloud) as house:
        house.levels.volatility = classifier = ByVector()
        embedded: list[float] = []
        note = LiveTurn.embedded
        monkeypatch.setattr(LiveTurn, 'embedded', lambda turn, at: (embedded.append(at), note(turn, at)))
        record = await house.ask('Tell me a story about a lighthouse.')
        assert len(embedded) == 1, 't_embed is when the vector was there, not when it was looked up'
        assert (record.volatile_reason, record.admission_reason) == ('looks like it', 'learned: deny')
        assert record.t_embed > 0
        assert [vector is not None for vector in classifier.given] == [True]
        assert house.embedder.seen == ['Tell me a story about a lighthouse.'], 'one embedding a turn'


async def test_the_fallback_says_nothing_of_another_subject(folder: FilePath, embedder: Embedder) -> None:
    knowledge = """
- id: lark
  questions: {en: ["What is the boot volume of the Lark?"]}
  answer: {en: "The boot of the Lark has 380 litres."}
"""
    async with scripted_cloud(Script(status=500)) as cloud, open_house(
        folder, embedder, cloud, {'router.theta_direct': 0.99}, knowledge=knowledge
    ) as house:
        right = await house.ask('What boot volume does the Lark have?', 'a')
        assert (right.path, right.outcome) == (Path.FALLBACK, Outcome.ANSWERED)
        wrong = await house.ask('What boot volume does the Heron have?', 'b')
        assert wrong.outcome is Outcome.FAILED
        assert 'l1 lark: names' in wrong.refused
        unknown = await house.ask('What is its boot volume?', 'c')
        assert unknown.outcome is Outcome.FAILED


async def test_an_answer_that_speaks_of_what_was_asked_before_is_not_kept(
    folder: FilePath, embedder: Embedder
) -> None:
    async with scripted_cloud(answer('Certainly.'), answer('Behind the Bison.')) as cloud, open_house(
        folder, embedder, cloud, KEEP
    ) as house:
        await house.ask('Tell me about the Bison.')
        record = await house.ask('Is there a fire extinguisher in the showroom?')
        assert (record.scope, record.admitted) == ('en', False)
        assert record.admission_reason == 'it names another subject'
