from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
from tokenizers import Tokenizer

from pace_ros import packaged
from pace_ros.config_levels import Embedding
from pace_ros.embedding import DegenerateText, Embedder, EmbeddingError, TokenInputEmbedder, open_embedder
from pace_ros.embedding.token_input import WINDOW

QUESTION = 'How many people fit in the car?'


@pytest.fixture(scope='module')
def mean() -> Embedder:
    return open_embedder(Embedding(kind='token'))


@pytest.fixture(scope='module')
def cls() -> Embedder:
    return open_embedder(Embedding(kind='token', pooling='cls'))


@pytest.fixture(scope='module')
def states() -> npt.NDArray[np.float32]:
    """The model's token vectors for the question, (tokens, d), computed without the code under test."""
    model, tokenizer = packaged.minilm_encoder()
    encoding = Tokenizer.from_file(str(tokenizer))
    encoding.no_padding()
    tokens = encoding.encode(QUESTION)
    ids = np.array([tokens.ids], dtype=np.int64)
    session = onnxruntime.InferenceSession(str(model), providers=['CPUExecutionProvider'])
    feed = {'input_ids': ids, 'attention_mask': np.ones_like(ids), 'token_type_ids': np.zeros_like(ids)}
    names = {each.name for each in session.get_inputs()}
    output = session.run(None, {name: value for name, value in feed.items() if name in names})[0]
    return np.asarray(output[0], dtype=np.float32)


def test_mean_pooling_is_the_normalised_mean_of_the_token_vectors(
    mean: Embedder, states: npt.NDArray[np.float32]
) -> None:
    expected = states.mean(axis=0)
    assert mean.embed(QUESTION) == pytest.approx(expected / np.linalg.norm(expected), abs=1e-3)


def test_cls_pooling_is_the_normalised_first_token_vector(cls: Embedder, states: npt.NDArray[np.float32]) -> None:
    assert cls.embed(QUESTION) == pytest.approx(states[0] / np.linalg.norm(states[0]), abs=1e-3)


@pytest.mark.parametrize('text', ['range', 'x', '续航', 'far ' * 500])
def test_any_text_becomes_a_unit_vector_and_always_the_same(mean: Embedder, text: str) -> None:
    vector = mean.embed(text)
    assert vector.shape == (mean.dimension,) == (384,)
    assert vector.dtype == np.float32
    assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-5)
    assert np.array_equal(vector, mean.embed(text))


def test_meaning_is_nearer_than_another_subject(mean: Embedder) -> None:
    question = mean.embed(QUESTION)
    assert question @ mean.embed('How many seats does the car have?') > 0.6
    assert question @ mean.embed('What is the weather like today?') < 0.4


def test_a_passage_longer_than_the_window_is_cut_there(mean: Embedder) -> None:
    fitting = WINDOW - 2  # beside [CLS] and [SEP]
    assert np.array_equal(
        mean.embed_passage('far ' * fitting + 'seat'), mean.embed_passage('far ' * fitting + 'price')
    )
    assert not np.array_equal(mean.embed('far ' * (fitting - 1) + 'seat'), mean.embed('far ' * (fitting - 1) + 'price'))


@pytest.mark.parametrize('text', ['', '   ', '🚗', '?!'])
def test_a_question_without_letter_or_digit_has_no_direction(mean: Embedder, text: str) -> None:
    with pytest.raises(DegenerateText, match='neither letter nor digit'):
        mean.embed(text)


def test_a_question_of_which_a_part_would_be_cut_has_no_direction(mean: Embedder) -> None:
    with pytest.raises(DegenerateText, match=f'longer than the {WINDOW} tokens'):
        mean.embed('far ' * (WINDOW - 2) + 'seat')


def test_prefixes_are_put_before_the_text(mean: Embedder) -> None:
    prefixed = open_embedder(Embedding(kind='token', query_prefix='query: ', passage_prefix='passage: '))
    assert np.array_equal(prefixed.embed('range'), mean.embed('query: range'))
    assert np.array_equal(prefixed.embed_passage('range'), mean.embed('passage: range'))


def test_every_vector_space_has_a_fingerprint_of_its_own(mean: Embedder, cls: Embedder, embedder: Embedder) -> None:
    prefixed = open_embedder(Embedding(kind='token', query_prefix='query: '))
    again = open_embedder(Embedding(kind='token'))
    assert len({each.fingerprint for each in (mean, cls, embedder, prefixed)}) == 4
    assert again.fingerprint == mean.fingerprint


def test_the_tokenizer_is_looked_for_beside_the_model(mean: Embedder, tmp_path: Path) -> None:
    model, tokenizer = packaged.minilm_encoder()
    (tmp_path / 'model.onnx').symlink_to(model)
    with pytest.raises(EmbeddingError, match=rf'There is no tokenizer at {tmp_path}/tokenizer\.json'):
        open_embedder(Embedding(kind='token', model=str(tmp_path / 'model.onnx')))
    (tmp_path / 'tokenizer.json').symlink_to(tokenizer)
    beside = open_embedder(Embedding(kind='token', model=str(tmp_path / 'model.onnx')))
    named = open_embedder(Embedding(kind='token', model=str(model), tokenizer=str(tokenizer)))
    assert beside.fingerprint == named.fingerprint == mean.fingerprint


def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path) -> None:
    model, _ = packaged.minilm_encoder()
    broken = tmp_path / 'tokenizer.json'
    for content in ('', 'no JSON', '{}'):
        broken.write_text(content, encoding='utf-8')
        with pytest.raises(EmbeddingError, match=r'tokenizer\.json'):
            TokenInputEmbedder(model, broken)


def test_an_absent_or_broken_model_is_named(tmp_path: Path) -> None:
    _, tokenizer = packaged.minilm_encoder()
    with pytest.raises(EmbeddingError, match=r'There is no embedding model at .*absent\.onnx'):
        TokenInputEmbedder(tmp_path / 'absent.onnx', tokenizer)
    (tmp_path / 'broken.onnx').write_bytes(b'no model')
    with pytest.raises(EmbeddingError, match=r'broken\.onnx cannot be loaded'):
        TokenInputEmbedder(tmp_path / 'broken.onnx', tokenizer)


def test_a_model_that_takes_strings_is_refused_by_name() -> None:
    _, tokenizer = packaged.minilm_encoder()
    with pytest.raises(EmbeddingError, match='embedding_model_quantized'):
        TokenInputEmbedder(packaged.multilingual_encoder(), tokenizer)
