"""From a launch to the text that may be uttered."""
from __future__ import annotations

import asyncio

import pytest
from harness import BOOK, ScriptedGenerator, until

from pace_ros.config import Filler
from pace_ros.filler import FillerDesk, FillerFailed, FillerGenerator


def desk(generator: FillerGenerator | None) -> FillerDesk:
    return FillerDesk(generator, BOOK, Filler)


@pytest.mark.anyio
async def test_a_good_filler_is_uttered_as_it_is() -> None:
    pending = desk(ScriptedGenerator('Good question!')).launch('q', 'en-US', 'Oh!')
    assert await pending.text() == 'Good question!'
    assert pending.reason == 'generated'
    assert pending.begun


@pytest.mark.anyio
@pytest.mark.parametrize(
    ('generated', 'reason'),
    [
        ('GOOD question', 'placeholder: rejected: repeats the last filler'),
        ('Good question!', 'placeholder: rejected: repeats the last filler'),
        ('It has 5 seats.', 'placeholder: rejected: has a digit'),
        (FillerFailed('generator busy'), 'placeholder: generator busy'),
    ],
)
async def test_everything_else_becomes_a_placeholder(generated: str | FillerFailed, reason: str) -> None:
    pending = desk(ScriptedGenerator(generated)).launch('q', 'en-US', 'Good question!')
    assert await pending.text() in BOOK.of('en').placeholders
    assert pending.reason == reason


@pytest.mark.anyio
async def test_an_empty_generation_does_not_count_as_a_repetition() -> None:
    pending = desk(ScriptedGenerator('')).launch('q', 'en-US', '')
    assert await pending.text() in BOOK.of('en').placeholders
    assert pending.reason == 'placeholder: rejected: empty'


@pytest.mark.anyio
async def test_the_longest_filler_is_a_setting() -> None:
    settings = Filler(max_chars=5)
    fillers = FillerDesk(ScriptedGenerator('Good question!'), BOOK, lambda: settings)
    assert fillers.refusal('Good question!', '') == 'longer than 5 characters'
    settings = Filler(max_chars=30)
    assert fillers.refusal('Good question!', '') == ''


@pytest.mark.anyio
async def test_without_a_generator_there_are_placeholders() -> None:
    pending = desk(None).launch('q', 'zh-CN', '')
    assert await pending.text() in BOOK.of('zh').placeholders
    assert pending.reason == 'placeholder: no generator'
    assert not pending.begun
    pending.cancel()


@pytest.mark.anyio
async def test_a_busy_generator_costs_no_launch() -> None:
    generator = ScriptedGenerator()
    generator.busy = True
    pending = desk(generator).launch('q', 'en', '')
    assert await pending.text() in BOOK.of('en').placeholders
    assert pending.reason == 'placeholder: generator busy'


@pytest.mark.anyio
async def test_waiting_may_end_without_ending_the_generation() -> None:
    generator = ScriptedGenerator(None)
    pending = desk(generator).launch('q', 'en', '')
    waiting = asyncio.create_task(pending.text())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    job = generator.jobs[0]
    assert not job.text.done()
    assert not job.cancelled
    pending.cancel()
    assert job.cancelled
    job.text.set_result('Good question!')
    assert await pending.text() == 'Good question!'


@pytest.mark.anyio
async def test_a_generation_begins_by_itself_but_not_if_cancelled_before() -> None:
    generator = ScriptedGenerator(None)
    cancelled, kept = (desk(generator).launch(name, 'en', '') for name in ('cancelled', 'kept'))
    assert not generator.jobs
    cancelled.cancel()
    await until(lambda: generator.jobs)
    assert [job.question for job in generator.jobs] == ['kept']
    assert (cancelled.begun, kept.begun) == (False, True)
    kept.cancel()


@pytest.mark.parametrize('locale', ['en-US', 'zh-CN', 'de-DE'])
def test_placeholders_take_turns_and_never_repeat_the_last(locale: str) -> None:
    fillers, last, seen = desk(None), '', []
    for _ in range(40):
        text = fillers.placeholder(locale, last)
        assert text != last
        seen.append(text)
        last = text
    assert set(seen) == set(BOOK.of(locale).placeholders)


def test_the_desk_closes_its_generator() -> None:
    generator = ScriptedGenerator()
    desk(generator).close()
    assert generator.closed
    desk(None).close()
