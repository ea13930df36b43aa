"""GPTCache's store: the threshold is a cosine, what is put is found, files are let go."""
from __future__ import annotations

import math
import threading
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.embedding import DegenerateText, Embedder, Vector
from pace_ros.study.gptcache.store import GptCacheStore, cosine_of, setting_of

pytestmark = pytest.mark.skipif(
    find_spec('gptcache') is None, reason='GPTCache is not installed (requirements/study.txt)'
)


class Angles:
    """A text is the cosine of its angle to '1', in the plane of the first two of d dimensions."""

    def __init__(self, dimension: int = 16) -> None:
        self.dimension = dimension
        self.fingerprint = 'angles'
        self.calls = 0

    def embed(self, text: str) -> Vector:
        self.calls += 1
        if not text.strip():
            raise DegenerateText('blank')
        vector = np.zeros(self.dimension, np.float32)
        vector[:2] = float(text), math.sqrt(1 - float(text) ** 2)
        return vector

    embed_passage = embed


def test_the_library_setting_of_a_cosine() -> None:
    assert setting_of(0.95) == pytest.approx(0.975)  # D = 2 - 1.9 = 0.1, rank 3.9 of 4
    assert (setting_of(-1), setting_of(1)) == (0, 1)
    assert cosine_of(3.9) == pytest.approx(0.95)
    assert (cosine_of(0), cosine_of(2), cosine_of(4)) == (-1, 0, 1)


@given(st.floats(-1, 1))
def test_a_rank_at_the_setting_is_the_cosine(cosine: float) -> None:
    assert cosine_of(4 * setting_of(cosine)) == pytest.approx(cosine)


@pytest.mark.parametrize('threshold', [0.95, 0.7, 0.0])
def test_hit_and_miss_at_the_boundary(threshold: float) -> None:
    with GptCacheStore(Angles(), threshold=threshold) as store:
        store.put('1', 'yes')
        below, above = store.get(f'{threshold - 0.001}'), store.get(f'{threshold + 0.001}')
    assert (below.answer, above.answer) == (None, 'yes')
    assert below.score == pytest.approx(threshold - 0.001, abs=1e-6)
    assert above.score == pytest.approx(threshold + 0.001, abs=1e-6)


def test_an_empty_store_has_nothing_near() -> None:
    with GptCacheStore(Angles()) as store:
        found = store.get('1')
        assert found.answer is None
        assert math.isnan(found.score)
        assert len(store) == 0


def test_the_nearest_of_several_answers() -> None:
    with GptCacheStore(Angles()) as store:
        for cosine in ('1', '0.97', '0'):
            assert store.put(cosine, f'of {cosine}')
        assert (store.get('0.999').answer, store.get('0.999').question) == ('of 1', '1')
        assert store.get('0.975').answer == 'of 0.97'
        assert len(store) == 3


def test_a_score_is_not_that_of_the_lookup_before() -> None:
    with GptCacheStore(Angles()) as store:
        store.put('1', 'yes')
        store.get('0.5')
        assert math.isnan(store.get(' ').score)


def test_what_is_not_stored() -> None:
    with GptCacheStore(Angles()) as store:
        assert not store.put('1', '')
        assert not store.put(' ', 'answer')
        assert store.get(' ') == (None, pytest.approx(math.nan, nan_ok=True), None, '')
        assert len(store) == 0


def test_a_known_vector_is_not_encoded_again() -> None:
    encoder = Angles()
    with GptCacheStore(encoder) as store:
        told: list[int] = []
        found = store.get('1', lambda: told.append(encoder.calls))
        assert told == [1]
        store.put('1', 'yes', found.vector)
        assert encoder.calls == 1
        store.put('0', 'no')
        assert (encoder.calls, told) == (2, [1])
        assert store.get('1').answer == 'yes'


def test_many_at_once_are_found_as_one_by_one() -> None:
    encoder = Angles()
    entries = [(f'{number / 2000}', f'answer {number}', encoder.embed(f'{number / 2000}')) for number in range(1500)]
    with GptCacheStore(encoder, threshold=0.9999) as store:
        store.fill([])
        store.fill(entries)
        assert len(store) == 1500
        assert [store.get(f'{number / 2000}').answer for number in (0, 700, 1499)] == [
            'answer 0', 'answer 700', 'answer 1499']


def test_the_oldest_make_room() -> None:
    with GptCacheStore(Angles(), capacity=10) as store:
        for number in range(31):
            store.put(f'{number / 40}', f'answer {number}')
        assert len(store) <= 10
        assert store.get(f'{30 / 40}').answer == 'answer 30'


def test_a_folder_keeps_what_it_was_given(tmp_path: Path) -> None:
    folder = tmp_path / 'kept'
    with GptCacheStore(Angles(), folder=folder) as store:
        store.put('1', 'yes')
    assert {each.name for each in folder.iterdir()} == {'sqlite.db', 'faiss.index'}
    with GptCacheStore(Angles(), folder=folder) as store:
        assert store.get('0.99').answer == 'yes'


def test_closing_removes_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('tempfile.tempdir', str(tmp_path))
    store = GptCacheStore(Angles())
    store.put('1', 'yes')
    assert list(tmp_path.iterdir())
    store.close()
    store.close()
    assert not list(tmp_path.iterdir())


def test_threads_share_it() -> None:
    wrong: list[str] = []

    def work(store: GptCacheStore, name: int) -> None:
        for number in range(10):
            text = f'{(10 * name + number) / 50 - 0.5}'
            store.put(text, f'answer {text}')
            found = store.get(text)
            if found.answer is None or found.score < 0.9999:
                wrong.append(text)

    with GptCacheStore(Angles(), threshold=0.99999) as store:
        threads = [threading.Thread(target=work, args=(store, name)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert not wrong
        assert len(store) == 40


@pytest.mark.parametrize('threshold', [1.01, -2.0, math.nan])
def test_a_threshold_is_a_cosine(threshold: float) -> None:
    with pytest.raises(ValueError, match='must be a cosine'):
        GptCacheStore(Angles(), threshold=threshold)


def test_our_encoder_gives_the_same_cosine(embedder: Embedder) -> None:
    one, other = 'How do I fold the rear seats of the car?', '后排座椅怎么放倒？'
    with GptCacheStore(embedder) as store:
        store.put(one, 'Pull the lever.')
        expected = float(embedder.embed(one) @ embedder.embed(other))
        assert store.get(other).score == pytest.approx(expected, abs=1e-5)
        assert store.get(one).answer == 'Pull the lever.'
