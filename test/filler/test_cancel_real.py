"""Cancelling the real small model: it stops within one token, wherever it is."""
from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest
from harness import BOOK

from pace_ros import packaged
from pace_ros.config import Filler
from pace_ros.filler import FillerFailed, FillerJob, LlamaFillers

SOON = 30.0  # s: nothing takes that long unless it hangs
EVERYTHING = 'Tell me everything you know about this car, from the beginning.'


@pytest.fixture(scope='module')
def llama() -> Iterator[LlamaFillers]:
    pytest.importorskip('llama_cpp')
    fillers = LlamaFillers(packaged.small_chat_model(), replace(Filler(), style='free', max_tokens=64), BOOK)
    yield fillers
    fillers.close()


@dataclass
class Watched:
    """The model's pieces of one generation as they come."""

    job: FillerJob | None = None
    pieces: list[str] = field(default_factory=list)
    asked: bool = False
    after: Callable[[int], None] = lambda _: None

    def cancel(self) -> None:
        assert self.job is not None
        self.job.cancel()

    def outcome(self) -> str:
        assert self.job is not None
        error = self.job.text.exception(SOON)
        assert isinstance(error, FillerFailed)
        return str(error)


@pytest.fixture
def watched(llama: LlamaFillers, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """The next generations, each piece noted before the generator sees it."""
    watched, tokens = Watched(), llama._tokens

    def noted(job: FillerJob, options: Sequence[str]) -> Generator[str, None, None]:
        watched.job, watched.asked = job, True
        for piece in tokens(job, options):
            watched.pieces.append(piece)
            watched.after(len(watched.pieces))
            yield piece

    monkeypatch.setattr(llama, '_tokens', noted)
    return watched


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SOON
    while not condition() and time.monotonic() < end:
        time.sleep(0.0002)
    assert condition()


@pytest.mark.parametrize('locale', ['en-US', 'zh-CN'])
@pytest.mark.parametrize('said', [1, 2, 5])
def test_cancelled_between_two_tokens_it_says_no_more(
    llama: LlamaFillers, watched: Watched, locale: str, said: int
) -> None:
    def cancel(pieces: int) -> None:
        if pieces == said:
            watched.cancel()

    watched.after = cancel
    watched.job = llama.launch(EVERYTHING, locale, '')  # as the model will note too, perhaps later
    assert watched.outcome() == 'cancelled'
    assert len(watched.pieces) == said


@pytest.mark.parametrize('said', [1, 3, 8])
def test_cancelled_from_another_thread_at_most_one_more_comes(
    llama: LlamaFillers, watched: Watched, said: int
) -> None:
    watched.job = llama.launch(EVERYTHING, 'en-US', '')
    until(lambda: len(watched.pieces) >= said)
    watched.job.cancel()
    before = len(watched.pieces)
    assert watched.outcome() == 'cancelled'
    assert len(watched.pieces) <= before + 1


@pytest.mark.parametrize(('locale', 'question'), [('zh-CN', '好' * 120), ('en-US', EVERYTHING)],
                         ids=['zh', 'en'])  # in turn, so that no prompt is known already
def test_cancelled_while_it_reads_the_question_it_says_at_most_one(
    llama: LlamaFillers, watched: Watched, locale: str, question: str,
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    """How long that takes is measured, not judged: see the ``cancel_*`` properties of the report."""
    watched.job = llama.launch(question, locale, '')
    until(lambda: watched.asked)
    begin = time.perf_counter()
    watched.job.cancel()
    assert watched.outcome() == 'cancelled'
    record_testsuite_property(f'cancel_{locale}_s', round(time.perf_counter() - begin, 4))
    assert len(watched.pieces) <= 1


def test_cancelled_before_its_turn_it_is_not_begun(llama: LlamaFillers, watched: Watched) -> None:
    running = llama.launch(EVERYTHING, 'en-US', '')
    until(lambda: watched.asked)
    running.cancel()
    watched.job = llama.launch(EVERYTHING, 'en-US', '')
    watched.job.cancel()
    assert watched.outcome() == 'cancelled'
    assert not watched.job.begun
    assert isinstance(running.text.exception(SOON), FillerFailed)


@pytest.mark.parametrize('said', range(4))
def test_the_next_filler_is_sound(
    llama: LlamaFillers, watched: Watched, monkeypatch: pytest.MonkeyPatch, said: int
) -> None:
    monkeypatch.setattr(llama, '_settings', Filler())
    job = llama.launch('How far does it go on one charge?', 'en-US', '')
    until(lambda: job.text.done() or (watched.asked and len(watched.pieces) >= said))
    job.cancel()
    assert llama.launch('What does it cost?', 'en-US', '').text.result(SOON) in BOOK.of('en').options('')
