"""The real small model in llama.cpp, loaded once."""
from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from harness import BOOK

from pace_ros import packaged
from pace_ros.config import Filler
from pace_ros.filler import FillerFailed, FillerJob, LlamaFillers, rejection

SOON = 30.0  # s: nothing takes that long unless it hangs
QUESTIONS = {
    'en-US': ['How far does it go on one charge?', 'What does it cost?', 'Hello!', 'x' * 500, '<|im_end|> "} \\'],
    'zh-CN': ['这辆车多少钱？', '充电要多久？', '你好', '？', '好' * 500],
}


@pytest.fixture(scope='session')
def llama() -> Iterator[LlamaFillers]:
    pytest.importorskip('llama_cpp')
    fillers = LlamaFillers(packaged.small_chat_model(), Filler(), BOOK)
    yield fillers
    fillers.close()


@pytest.fixture
def wordy(llama: LlamaFillers, monkeypatch: pytest.MonkeyPatch) -> LlamaFillers:
    """The same model, talking freely and at length."""
    monkeypatch.setattr(llama, '_settings', replace(Filler(), style='free', max_tokens=64))
    return llama


def until_begun(job: FillerJob) -> None:
    end = time.monotonic() + SOON
    while not job.begun and time.monotonic() < end:
        time.sleep(0.0005)
    assert job.begun


@pytest.mark.parametrize('locale', QUESTIONS)
def test_every_filler_is_one_of_the_options_and_differs_from_the_last(llama: LlamaFillers, locale: str) -> None:
    last = ''
    for question in QUESTIONS[locale]:
        text = llama.launch(question, locale, last).text.result(SOON)
        assert text in BOOK.of(locale).options(last)
        assert rejection(text, 30) == ''
        assert text != last
        last = text


def test_the_opening_of_the_last_filler_is_avoided(llama: LlamaFillers) -> None:
    for avoid in BOOK.of('en').options('')[::5]:
        opening = next(piece for piece in BOOK.of('en').pieces[0] if avoid.startswith(piece))
        assert not llama.launch('How fast is it?', 'en-US', avoid).text.result(SOON).startswith(opening)


def test_another_language_gets_english(llama: LlamaFillers) -> None:
    assert llama.launch('Bonjour!', 'fr-FR', '').text.result(SOON) in BOOK.of('en').options('')


def test_free_style_returns_the_model_s_own_words(wordy: LlamaFillers) -> None:
    text = wordy.launch('How fast is it?', 'en-US', '').text.result(SOON)
    assert text == text.strip()


def test_a_cancelled_generation_ends_within_a_token(wordy: LlamaFillers) -> None:
    job = wordy.launch('Tell me everything.', 'en-US', '')
    until_begun(job)
    begin = time.monotonic()
    job.cancel()
    with pytest.raises(FillerFailed, match='cancelled'):
        job.text.result(SOON)
    assert time.monotonic() - begin < 1.0  # 0.3 s on a machine of its own


def test_one_generation_at_a_time(wordy: LlamaFillers) -> None:
    job = wordy.launch('Tell me everything.', 'en-US', '')
    with pytest.raises(FillerFailed, match='generator busy'):
        wordy.launch('And I?', 'en-US', '')
    job.cancel()
    with pytest.raises(FillerFailed, match='cancelled'):
        job.text.result(SOON)


def test_a_cancelled_generation_is_waited_out(wordy: LlamaFillers, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [wordy.launch('Tell me everything.', 'en-US', '')]
    until_begun(jobs[0])
    for _ in range(3):
        jobs[-1].cancel()
        jobs.append(wordy.launch('Tell me more.', 'en-US', ''))
    assert jobs[-1].text.result(SOON) is not None
    assert all(isinstance(job.text.exception(SOON), FillerFailed) for job in jobs[:-1])


def test_a_broken_generation_costs_one_filler(llama: LlamaFillers, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_arguments: object) -> object:
        raise ValueError('the grammar is broken')

    with monkeypatch.context() as patch:
        patch.setattr(llama._llama, 'create_chat_completion', broken)
        with pytest.raises(FillerFailed, match='generator error: the grammar is broken'):
            llama.launch('How fast is it?', 'en-US', '').text.result(SOON)
    assert llama.launch('How fast is it?', 'en-US', '').text.result(SOON)


def test_a_cut_filler_is_completed(llama: LlamaFillers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama, '_settings', Filler(max_tokens=1))
    assert llama.launch('How fast is it?', 'en-US', '').text.result(SOON) in BOOK.of('en').options('')


def test_closing_ends_what_runs() -> None:
    pytest.importorskip('llama_cpp')
    fillers = LlamaFillers(packaged.small_chat_model(), replace(Filler(), style='free', max_tokens=64), BOOK)
    job = fillers.launch('Tell me everything.', 'en-US', '')
    until_begun(job)
    fillers.close()
    assert isinstance(job.text.exception(SOON), FillerFailed)
    assert not fillers._thread.is_alive()


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(FillerFailed, match=r'There is no filler model at .*none\.gguf'):
        LlamaFillers(tmp_path / 'none.gguf', Filler(), BOOK)


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    pytest.importorskip('llama_cpp')
    path = tmp_path / 'text.gguf'
    path.write_text('no model')
    with pytest.raises(FillerFailed, match=r'text\.gguf cannot be loaded'):
        LlamaFillers(path, Filler(), BOOK)
