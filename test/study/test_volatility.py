"""Training and measuring: labels read, heads that find what the labels say, and the command."""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('sklearn', reason='scikit-learn is not installed (requirements/study.txt)')

from pace_ros import packaged
from pace_ros.cache.volatility import Lexicon
from pace_ros.cache.volatility_head import COMMON, LearnedClassifier
from pace_ros.embedding import Embedder, Vector
from pace_ros.study.labelled import DataError, Labelled, encode, knowledge_questions, read_labelled
from pace_ros.study.volatility import (
    Count,
    categories,
    counted,
    main,
    out_of_fold,
    train,
    train_head,
    unseen_verdicts,
    verdicts,
)

PRICES = ('How much does {} cost?', 'What is the price of {}?', 'Is {} expensive?')
FACTS = ('Who built {}?', 'Where does {} come from?', 'What color is {}?')
THINGS = ('the car', 'a bicycle', 'this house', 'the boat', 'a train ticket', 'the lamp', 'a phone', 'the piano')


def labelled() -> list[Labelled]:
    """Questions that anybody can tell apart; one group a thing and kind."""
    return [Labelled(form.format(thing), 'en', forms is PRICES, f'{thing} {forms is PRICES}')
            for thing in THINGS for forms in (PRICES, FACTS) for form in forms]


def clouds(seed: int = 1) -> tuple[Vector, np.typing.NDArray[np.bool_], list[str]]:
    """Unit vectors on two sides, with labels and groups."""
    random = np.random.default_rng(seed)
    flags = np.arange(60) % 3 == 0
    vectors = random.normal(0, 0.3, (60, 8)) + np.where(flags, 1.0, -1.0)[:, None] * np.eye(8)[0]
    return ((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32), flags,
            [str(row) for row in range(60)])


def test_both_forms_of_a_data_file_are_read(tmp_path: Path) -> None:
    file = tmp_path / 'asked.jsonl'
    file.write_text('\n'.join([
        json.dumps({'question': 'How much?', 'locale': 'en-US', 'volatile': True}), '',
        json.dumps({'question_zh': '谁写的？', 'question_en': 'Who wrote it?', 'volatile': False, 'split': 'dev'}),
    ]), encoding='utf-8-sig')
    assert list(read_labelled(file)) == [
        Labelled('How much?', 'en', True, 'asked.jsonl:1'),
        Labelled('谁写的？', 'zh', False, 'asked.jsonl:3', 'dev'),
        Labelled('Who wrote it?', 'en', False, 'asked.jsonl:3', 'dev'),
    ]


@pytest.mark.parametrize('line', ['{', '[]', '{"question": "q", "volatile": true}', '{"question": "q", "locale": "en"}',
                                  '{"question": 1, "locale": "en", "volatile": true}',
                                  '{"question": "q", "locale": "en", "volatile": "yes"}'])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / 'asked.jsonl').write_text(f'\n{line}\n', encoding='utf-8')
    with pytest.raises(DataError, match=r'asked\.jsonl, line 2: no labelled question'):
        list(read_labelled(tmp_path / 'asked.jsonl'))


def test_knowledge_questions_carry_their_entry_s_flag() -> None:
    asked = {each.question: each for each in knowledge_questions([packaged.config_dir() / 'knowledge'])}
    assert asked['云雀多少钱？'] == Labelled('云雀多少钱？', 'zh', True, 'price-lark-range')
    assert not asked['Does the Lark have a heat pump?'].volatile


def test_a_question_without_a_vector_is_left_out(embedder: Embedder) -> None:
    kept, vectors = encode([Labelled('...', 'en', True, '1'), Labelled('price', 'en', True, '2')], embedder)
    assert [each.question for each in kept] == ['price']
    assert vectors.shape == (1, embedder.dimension)


def test_a_head_finds_what_the_labels_say() -> None:
    vectors, flags, groups = clouds()
    head = train_head(vectors, flags, groups)
    assert [head.probability(vector) >= head.threshold for vector in vectors] == flags.tolist()
    assert (head.volatile, head.stable) == (20, 40)
    assert 0.0 < head.threshold < 1.0
    middle = np.eye(8, dtype=np.float32)[0]
    assert head.probability(middle) > 0.9
    assert head.probability(-middle) < 0.1


def test_labels_by_chance_are_not_learned_out_of_fold() -> None:
    """What a model has not seen it cannot know: margins on random labels say nothing."""
    vectors, _, groups = clouds()
    random = np.random.default_rng(3).permutation(np.arange(60) % 2 == 0)
    margins = out_of_fold(vectors, random, groups)
    assert abs(np.corrcoef(margins, random)[0, 1]) < 0.5


def test_a_group_is_never_judged_by_its_own_kind() -> None:
    """Pairs of twins with labels of their own: seen, a twin gives the label away; held out with it, it does not."""
    random = np.random.default_rng(5)
    vectors = random.normal(size=(40, 64))
    vectors = np.repeat(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), 2, axis=0).astype(np.float32)
    flags = np.repeat(np.arange(40) % 2 == 0, 2)
    together = out_of_fold(vectors, flags, [str(row // 2) for row in range(80)])
    apart = out_of_fold(vectors, flags, [str(row) for row in range(80)])
    assert np.mean((apart > 0) == flags) > np.mean((together > 0) == flags) + 0.2


def test_too_few_questions_are_refused() -> None:
    vectors, flags, groups = clouds()
    with pytest.raises(DataError, match='There are 3 volatile or stable questions'):
        train_head(vectors[:9], flags[:9], groups[:9])


def test_a_language_with_too_few_questions_has_the_common_head(embedder: Embedder) -> None:
    questions, vectors = encode([*labelled(), Labelled('多少钱', 'zh', True, 'x')], embedder)
    learned = train(questions, vectors)
    assert learned.heads.keys() == {'en', COMMON}
    result = counted(questions, verdicts(learned, questions, vectors))
    assert (result.volatile, result.stable, result.recall, result.precision) == (25, 24, 1.0, 1.0)
    unseen = counted(questions[:-1], unseen_verdicts(questions[:-1], vectors[:-1]))
    assert unseen.recall >= 0.9
    assert unseen.precision >= 0.7


def test_counts_are_what_they_say() -> None:
    questions = [Labelled(str(row), 'en', row < 4, str(row)) for row in range(10)]
    result = counted(questions, np.array([True, True, True, False, True] + [False] * 5))
    assert result == Count(found=3, volatile=4, wrong=1, stable=6)
    assert (result.recall, result.precision, result.false_share) == (0.75, 0.75, 1 / 6)


def test_classes_are_counted_by_the_lexicon() -> None:
    questions = [Labelled('How much is it?', 'en', True, '1'), Labelled('Is it for free?', 'en', False, '2'),
                 Labelled('Who are you?', 'en', False, '3')]
    assert categories(Lexicon.read(packaged.config_dir() / 'lexicon'), questions) == {'price': Count(1, 1, 1, 2)}


def test_the_command_trains_and_reports(
    tmp_path: Path, embedder: Embedder, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / 'asked.jsonl'
    data.write_text('\n'.join(json.dumps({'question': each.question, 'locale': 'en', 'volatile': each.volatile})
                              for each in labelled()), encoding='utf-8')
    out = tmp_path / 'heads.npz'
    assert main(['train', str(out), '--data', str(data), '--knowledge']) == 0
    assert 'en: 24 volatile, 24 stable questions' in capsys.readouterr().out
    learned = LearnedClassifier.read(out, embedder.fingerprint)
    assert learned.classify('', 'en', embedder.embed('What is the price of the sofa?')).volatile
    for options in ([], ['--head', str(out)]):
        assert main(['report', '--data', str(data), '--knowledge', *options]) == 0
        printed = capsys.readouterr().out
        assert all(f'en {name}' in printed for name in ('lexicon', 'learned', 'either', 'lexicon, class price'))


def test_the_command_says_in_one_sentence_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['report', '--data', str(tmp_path / 'absent.jsonl')]) == 1
    assert 'absent.jsonl' in capsys.readouterr().err
