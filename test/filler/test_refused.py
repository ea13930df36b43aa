"""A filler that may not be generated: the cost ceiling leaves the placeholders."""
from __future__ import annotations

import asyncio

import pytest
from harness import BOOK, ScriptedGenerator, until

from pace_ros.config import Filler
from pace_ros.filler import FillerDesk, FillerGenerator

WHY = 'cost ceiling'


def desk(generator: FillerGenerator | None) -> FillerDesk:
    return FillerDesk(generator, BOOK, Filler)


@pytest.mark.anyio
@pytest.mark.parametrize('locale', ['en-US', 'zh-CN'])
async def test_a_placeholder_is_said_at_once_and_nothing_is_generated(locale: str) -> None:
    generator = ScriptedGenerator(None)  # would never come to an end
    pending = desk(generator).launch('q', locale, '', refused=WHY)
    waiting = asyncio.create_task(pending.text())
    await asyncio.sleep(0)
    assert waiting.done(), 'it waits'
    assert waiting.result() in BOOK.of(locale).placeholders
    assert pending.reason == 'placeholder: cost ceiling'
    assert (generator.jobs, pending.begun) == ([], False)


@pytest.mark.anyio
async def test_nothing_is_generated_by_itself_either() -> None:
    generator = ScriptedGenerator(None)
    refused = desk(generator).launch('refused', 'en', '', refused=WHY)
    allowed = desk(generator).launch('allowed', 'en', '')
    await until(lambda: generator.jobs)  # its time comes after that of the refused one
    assert [job.question for job in generator.jobs] == ['allowed']
    assert (refused.begun, refused.reason, allowed.begun) == (False, 'launched', True)
    allowed.cancel()


@pytest.mark.anyio
@pytest.mark.parametrize('generator', [None, ScriptedGenerator('Good question!')], ids=['none', 'ready'])
async def test_the_ceiling_is_the_reason_whatever_the_generator(generator: ScriptedGenerator | None) -> None:
    pending = desk(generator).launch('q', 'en', '', refused=WHY)
    assert await pending.text() in BOOK.of('en').placeholders
    assert pending.reason == f'placeholder: {WHY}'


@pytest.mark.anyio
async def test_a_placeholder_differs_from_the_last_filler_here_too() -> None:
    fillers, last = desk(ScriptedGenerator()), ''
    for _ in range(20):
        text = await fillers.launch('q', 'en', last, refused=WHY).text()
        assert text != last
        last = text


@pytest.mark.anyio
async def test_it_can_be_cancelled_and_asked_again() -> None:
    pending = desk(ScriptedGenerator()).launch('q', 'en', '', refused=WHY)
    pending.cancel()
    assert await pending.text() in BOOK.of('en').placeholders
    assert await pending.text() in BOOK.of('en').placeholders
    pending.cancel()
    assert not pending.begun


@pytest.mark.anyio
async def test_the_next_one_may_be_generated_again() -> None:
    fillers = desk(ScriptedGenerator('Good question!'))
    await fillers.launch('q', 'en', '', refused=WHY).text()
    assert await fillers.launch('q', 'en', '').text() == 'Good question!'
