"""Fillers from a small llama.cpp model in this process, on a thread of its own."""
from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import logging
import queue
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol

from pace_ros.config import Filler as FillerSettings
from pace_ros.filler.phrases import PhraseBook

log = logging.getLogger(__name__)
CONTEXT_TOKENS = 512
QUESTION_CHARS = 60  # the packaged model takes some 3 s to read 120 Han characters on one core
TEMPERATURE = 0.9


class FillerFailed(RuntimeError):
    """No filler came of a launch; the message is a reason fit for the record."""


class FillerJob:
    """One generation under way. ``text`` resolves to the filler or fails with FillerFailed."""

    def __init__(self, question: str, locale: str, avoid: str) -> None:
        self.question = question
        self.locale = locale
        self.avoid = avoid
        self.text: Future[str] = Future()
        self.text.set_running_or_notify_cancel()  # it is ended by cancel() below only
        self.begun = False
        self.brake = ctypes.create_string_buffer(2)  # a C string: empty, or one character once cancelled

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for it any more."""
        return bool(self.brake.value)

    def cancel(self) -> None:
        """Stop at once, even amid the prompt; a filler that is ready already stays so."""
        self.brake.value = b'x'


class FillerGenerator(Protocol):
    """Makes one filler at a time."""

    def launch(self, question: str, locale: str, avoid: str) -> FillerJob:
        """Start a generation. Raises FillerFailed while another is under way."""
        ...

    def close(self) -> None:
        """Stop and free the model."""
        ...


class LlamaFillers:
    """llama.cpp, grammar-constrained unless ``style`` is free, warmed up before the constructor returns."""

    def __init__(self, model: Path, settings: FillerSettings, book: PhraseBook) -> None:
        self._settings = settings
        self._book = book
        self._jobs: queue.SimpleQueue[FillerJob | None] = queue.SimpleQueue()
        self._current: FillerJob | None = None
        self._lock = threading.Lock()
        self._llama = _load(model, settings.threads)
        self._braking: FillerJob | None = None  # whose brake llama.cpp reads: it must outlive the evaluation
        for name in book.languages():
            job = FillerJob('Hello!', name, '')
            self._generate(job)
        self._thread = threading.Thread(target=self._run, name='filler', daemon=True)
        self._thread.start()

    def launch(self, question: str, locale: str, avoid: str) -> FillerJob:
        """Start a generation. Raises FillerFailed while another one is wanted; a cancelled one is waited out."""
        job = FillerJob(question, locale, avoid)
        with self._lock:
            if self._current and not self._current.cancelled and not self._current.text.done():
                raise FillerFailed('generator busy')
            self._current = job
        self._jobs.put(job)
        return job

    def close(self) -> None:
        """Cancel what runs, end the thread, free the model."""
        with self._lock:
            if self._current:
                self._current.cancel()
        self._jobs.put(None)
        self._thread.join(timeout=2.0)
        self._llama.close()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            if job.cancelled:
                job.text.set_exception(FillerFailed('cancelled'))
                continue
            job.begun = True
            try:
                job.text.set_result(self._generate(job))
            except FillerFailed as error:
                job.text.set_exception(error)
            except Exception as error:  # llama.cpp raises what it likes; the thread must outlive it
                if job.cancelled:
                    job.text.set_exception(FillerFailed('cancelled'))
                    continue
                log.exception('filler generation failed')
                job.text.set_exception(FillerFailed(f'generator error: {error}'))

    def _generate(self, job: FillerJob) -> str:
        """Generate token by token; a curated filler is whole as soon as only one can still follow."""
        text = ''
        self._heed(job)
        curated = self._settings.style == 'phrases'
        options = self._book.of(job.locale).options(job.avoid) if curated else ()
        with contextlib.closing(self._tokens(job, options)) as tokens:
            for piece in tokens:
                if job.cancelled:
                    raise FillerFailed('cancelled')
                text += piece
                options = [option for option in options if option.startswith(text)]
                if curated and len(options) == 1:
                    return options[0]
        if options:  # the token limit came first: the shortest filler that begins so
            return min(options, key=len)
        return text.strip().strip('"').strip()

    def _heed(self, job: FillerJob) -> None:
        """Let llama.cpp stop between two nodes of its graph once the job is cancelled.

        It asks ``strlen`` whether to: 0 or 1 of the job's brake. A Python function would do, but needs the interpreter
        hundreds of times a token, and beside a busy thread makes a generation thirty times slower.
        """
        import llama_cpp  # noqa: PLC0415  a node without a generator needs no llama.cpp

        strlen = ctypes.cast(ctypes.CDLL(None).strlen, llama_cpp.ggml_abort_callback)
        brake = ctypes.cast(job.brake, ctypes.c_void_p)
        llama_cpp.llama_set_abort_callback(self._llama._ctx.ctx, strlen, brake)  # noqa: SLF001  it has no other way in
        self._braking = job

    def _tokens(self, job: FillerJob, options: Sequence[str]) -> Generator[str, None, None]:
        chunks = self._llama.create_chat_completion(
            messages=[
                {'role': 'system', 'content': self._book.of(job.locale).instruction},
                {'role': 'user', 'content': job.question[:QUESTION_CHARS]},
            ],
            grammar=_grammar(tuple(options)) if options else None,
            max_tokens=self._settings.max_tokens,
            temperature=TEMPERATURE,
            top_k=0,
            stream=True,
        )
        with contextlib.closing(chunks):
            for chunk in chunks:
                yield chunk['choices'][0]['delta'].get('content') or ''


@functools.lru_cache(maxsize=256)
def _grammar(options: tuple[str, ...]) -> Any:
    """GBNF that lets exactly these texts through."""
    from llama_cpp import LlamaGrammar  # noqa: PLC0415  a node without a generator needs no llama.cpp

    alternatives = ' | '.join(json.dumps(option, ensure_ascii=False) for option in options)
    return LlamaGrammar.from_string(f'root ::= {alternatives}', verbose=False)


def _load(model: Path, threads: int) -> Any:
    if not model.is_file():
        raise FillerFailed(f'There is no filler model at {model}.')
    from llama_cpp import Llama  # noqa: PLC0415  likewise

    try:
        llama = Llama(str(model), n_ctx=CONTEXT_TOKENS, n_threads=threads, n_threads_batch=threads, verbose=False)
    except (ValueError, RuntimeError) as error:
        raise FillerFailed(f'{model} cannot be loaded: {error}') from error
    logging.getLogger('llama-cpp-python').setLevel(logging.CRITICAL)  # it would print a line for each cancelled filler
    return llama
