"""The filler model in virtual time."""
from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from harness import BOOK

from pace_ros.filler import FillerFailed
from pace_ros.study.virtual.fillers import FillerLatencies, LatencyFileError, SampledFillers
from pace_ros.study.virtual.loop import VirtualLoop, run

LATENCIES = FillerLatencies('by hand', {'zh': (0.2, 0.4), 'en': (0.3,)})


def times(fillers: SampledFillers, questions: list[str], locale: str = 'zh-CN') -> list[tuple[float, str]]:
    """Latency and text of each question's filler, one after the other."""
    loop = VirtualLoop(measured=False)

    async def ask() -> list[tuple[float, str]]:
        found = []
        for question in questions:
            begin = loop.time()
            text = await asyncio.wrap_future(fillers.launch(question, locale, '').text)
            found.append((loop.time() - begin, text))
        return found

    return run(loop, ask())


def test_latencies_are_those_measured_and_the_same_in_every_arm() -> None:
    questions = [f'问题{number}' for number in range(40)]
    one, other = (times(SampledFillers(LATENCIES, BOOK, seed=3), questions) for _ in range(2))
    assert one == other
    assert {round(seconds, 6) for seconds, _ in one} == {0.2, 0.4}
    assert {text for _, text in one} <= set(BOOK.of('zh').options(''))
    assert times(SampledFillers(LATENCIES, BOOK, seed=4), questions) != one


def test_one_at_a_time_and_a_cancelled_one_makes_room() -> None:
    loop = VirtualLoop(measured=False)

    async def work() -> None:
        fillers = SampledFillers(LATENCIES, BOOK, seed=1)
        first = fillers.launch('a', 'en', '')
        with pytest.raises(FillerFailed, match='busy'):
            fillers.launch('b', 'en', '')
        first.cancel()
        second = fillers.launch('b', 'en', '')
        assert await asyncio.wrap_future(second.text) in BOOK.of('en').options('')
        with pytest.raises(FillerFailed, match='cancelled'):
            first.text.result(0)

    run(loop, work())


def test_the_packaged_latencies_are_measured_in_both_languages() -> None:
    latencies = FillerLatencies.read()
    assert {name: len(values) >= 100 for name, values in latencies.seconds.items()} == {'zh': True, 'en': True}
    assert all(0.02 < value < 5.0 for values in latencies.seconds.values() for value in values)


@pytest.mark.parametrize('content', [
    'no JSON', '[]', '{}', json.dumps({'seconds': {}}), json.dumps({'seconds': {'zh': []}}),
    json.dumps({'seconds': {'zh': [-0.1]}}), json.dumps({'seconds': {'zh': ['fast']}}),
])
def test_a_bad_file_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / 'latencies.json'
    file.write_text(content)
    with pytest.raises(LatencyFileError, match=r'latencies\.json'):
        FillerLatencies.read(file)
    with pytest.raises(LatencyFileError, match=r'none\.json'):
        FillerLatencies.read(tmp_path / 'none.json')
