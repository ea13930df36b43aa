"""``study fillers``: measures how long the filler model takes here, for runs in virtual time."""
from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path

from pace_ros import packaged
from pace_ros.config import Config
from pace_ros.filler import FillerFailed, LlamaFillers, PhraseBook
from pace_ros.language import language
from pace_ros.places import or_packaged
from pace_ros.study.datasets.question import DataSet
from pace_ros.study.datasets.registry import load
from pace_ros.study.virtual.fillers import LatencyFileError

LONGEST = 30.0  # s a generation may take


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument('out', metavar='FILE', type=Path, help='JSON file to write')
    parser.add_argument('--count', type=int, default=200, help='generations a language (default: %(default)s)')
    parser.add_argument('--dataset', default='carqa', help='whose questions (default: %(default)s)')


def run(options: argparse.Namespace) -> int:
    """Measure and write; 0. Raises DataSetError, LatencyFileError, MissingPackage, ImportError, OSError."""
    if options.count < 1:
        raise LatencyFileError(f'at least one generation must be measured, not {options.count}')
    options.out.touch()  # what cannot be written is told before anything is measured
    try:
        seconds = _seconds(load(options.dataset), options.count)
    except (FillerFailed, TimeoutError) as error:
        raise LatencyFileError(f'the filler model failed: {error}') from error
    fields = {'machine': f'{platform.machine()}, {Config().filler.threads} thread', 'seconds': seconds}
    options.out.write_text(json.dumps(fields) + '\n', encoding='utf-8')
    for name, values in seconds.items():
        middle = sorted(values)[len(values) // 2]
        sys.stdout.write(f'{name}: median {middle:.3f} s, longest {max(values):.3f} s of {len(values)}\n')
    return 0


def _seconds(data: DataSet, count: int) -> dict[str, list[float]]:
    """By language, of those that the data set is in."""
    settings = Config().filler
    book = PhraseBook.read(or_packaged(settings.phrases_file, 'fillers.yaml'), settings.max_chars)
    languages = sorted({language(each.locale) for each in data.seeds})
    fillers = LlamaFillers(packaged.small_chat_model(), settings, book)
    try:
        return {name: measured(fillers, data, name, count) for name in languages}
    finally:
        fillers.close()


def measured(fillers: LlamaFillers, data: DataSet, name: str, count: int) -> list[float]:
    """Generation times (s) for so many questions of a language, one after the other."""
    texts = [each.text for each in data.seeds if language(each.locale) == name]
    times = []
    for number in range(count):
        begin = time.perf_counter()
        fillers.launch(texts[number * 7 % len(texts)], name, '').text.result(LONGEST)
        times.append(round(time.perf_counter() - begin, 4))
    return times
