from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pace_ros import packaged
from pace_ros.config_levels import Embedding
from pace_ros.embedding import DegenerateText, Embedder, EmbeddingError, StringInputEmbedder, open_embedder
from pace_ros.embedding.embedder import unit


@pytest.mark.parametrize('text', ['How far does it go?', '这车能跑多远？', 'x', '字' * 3000, 'a\nb', '７'])
def test_any_text_becomes_a_unit_vector_and_always_the_same(embedder: Embedder, text: str) -> None:
    vector = embedder.embed(text)
    assert vector.shape == (embedder.dimension,) == (512,)
    assert vector.dtype == np.float32
    assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-5)
    assert np.array_equal(vector, embedder.embed(text))


@pytest.mark.parametrize('text', ['', '   ', '🚗', '?!', '。。。', '\u200b', '—— …'])
def test_a_question_without_letter_or_digit_has_no_direction(embedder: Embedder, text: str) -> None:
    with pytest.raises(DegenerateText, match='neither letter nor digit'):
        embedder.embed(text)


def test_a_vector_does_not_depend_on_what_was_encoded_before(embedder: Embedder) -> None:
    first = embedder.embed('How far does it go?')
    embedder.embed('什么颜色？' * 50)
    assert np.array_equal(first, embedder.embed('How far does it go?'))


def test_meaning_is_nearer_than_another_subject_also_across_languages(embedder: Embedder) -> None:
    def cosine(a: str, b: str) -> float:
        return float(embedder.embed(a) @ embedder.embed(b))

    question, subject = 'How many people fit in the car?', 'What is the weather like today?'
    assert cosine(question, 'How many seats does the car have?') > cosine(question, subject)
    assert cosine(question, '这辆车能坐几个人？') > cosine(question, subject)


def test_prefixes_are_put_before_the_text() -> None:
    plain = open_embedder(Embedding())
    prefixed = open_embedder(Embedding(query_prefix='query: ', passage_prefix='passage: '))
    assert np.array_equal(prefixed.embed('range'), plain.embed('query: range'))
    assert np.array_equal(prefixed.embed_passage('range'), plain.embed_passage('passage: range'))
    assert np.array_equal(plain.embed('range'), plain.embed_passage('range'))


def test_a_query_prefix_makes_another_vector_space(embedder: Embedder) -> None:
    assert open_embedder(Embedding(query_prefix='query: ')).fingerprint != embedder.fingerprint


def test_the_same_model_is_the_same_vector_space_wherever_it_lies(embedder: Embedder, tmp_path: Path) -> None:
    copy = tmp_path / 'other name.onnx'
    copy.symlink_to(packaged.multilingual_encoder())
    moved = open_embedder(Embedding(model=str(copy)))
    assert moved.fingerprint == embedder.fingerprint
    assert np.array_equal(moved.embed('range'), embedder.embed('range'))


def test_an_absent_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match=r'There is no embedding model at .*absent\.onnx'):
        open_embedder(Embedding(model=str(tmp_path / 'absent.onnx')))


@pytest.mark.parametrize('content', [b'', b'no model', b'\x08\x07' * 200])
def test_a_file_that_is_no_model_is_named(tmp_path: Path, content: bytes) -> None:
    model = tmp_path / 'broken.onnx'
    model.write_bytes(content)
    with pytest.raises(EmbeddingError, match=r'broken\.onnx cannot be loaded'):
        StringInputEmbedder(model)


def test_a_model_that_takes_tokens_is_refused_with_advice() -> None:
    model, _ = packaged.minilm_encoder()
    with pytest.raises(EmbeddingError, match=r'model\.onnx.*embedding\.kind = token'):
        open_embedder(Embedding(model=str(model)))


@pytest.mark.parametrize('vector', [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [1e-20, 0.0]])
def test_a_vector_without_direction_is_refused(vector: list[float]) -> None:
    with pytest.raises(DegenerateText, match='no direction'):
        unit(np.array(vector))


def test_a_vector_is_scaled_to_length_one() -> None:
    assert unit(np.array([3.0, 4.0])).tolist() == pytest.approx([0.6, 0.8])
