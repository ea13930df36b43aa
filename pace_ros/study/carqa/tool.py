"""``study carqa``: writes CarQA, checks the shipped files, shows samples.

study carqa DIR [--seed N]   all files and the data card, from the templates
study carqa --check          the shipped files are those that their seed gives, and no two seeds are near
study carqa --samples 20     questions of the shipped files with answers and all wordings
"""
from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from pace_ros import packaged
from pace_ros.config_levels import Embedding
from pace_ros.embedding import Embedder, open_embedder
from pace_ros.study.carqa import SEED, CarQAError, dedup, files, generate, load
from pace_ros.study.carqa.card import card, samples
from pace_ros.study.carqa.generation import candidates
from pace_ros.study.carqa.templates import read_templates

CARD = 'README.md'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument('folder', nargs='?', type=Path, help='where to write; it is made if need be')
    parser.add_argument('--seed', type=int, default=SEED, help='another one gives other values and wordings')
    parser.add_argument('--check', action='store_true', help='compare the folder (or the shipped one) with a new one')
    parser.add_argument('--samples', type=int, metavar='N', help='print N questions with all their wordings')


def run(options: argparse.Namespace) -> int:
    """Do it; 0 if all is well, 1 for a difference.

    Raises CarQAError, TemplateError, AntonymError, MissingPackage, EmbeddingError, OSError.
    """
    if options.samples is not None:
        if options.samples < 1:
            raise CarQAError(f'--samples must be at least 1, not {options.samples}.')
        print(samples(load(options.folder), options.samples, options.seed))  # noqa: T201  what was asked for
        return 0
    if options.check:
        return _report(check(options.folder or files.shipped(), open_embedder(Embedding())))
    if options.folder is None:
        raise CarQAError('name a folder to write to, or --check, or --samples N.')
    write(options.folder, options.seed, open_embedder(Embedding()))
    return 0


def write(folder: Path, seed: int, embedder: Embedder) -> None:
    """Generate all files from the shipped templates, and the data card.

    Raises CarQAError, TemplateError, MissingPackage or OSError.
    """
    templates = files.shipped() / files.TEMPLATES
    near = dedup.near_ones(candidates(seed, read_templates(templates)), embedder)
    data = generate(seed, templates, packaged.config_dir() / 'antonyms.yaml', near)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.contents(data, seed, near).items():
        (folder / name).write_text(text, encoding='utf-8')
    (folder / CARD).write_text(card(folder, templates, load(folder), seed, near, embedder), encoding='utf-8')


def check(folder: Path, embedder: Embedder) -> list[str]:
    """What is wrong with a folder's files, in sentences: other bytes than their seed gives, or seeds near each other.

    Raises CarQAError where there are none.
    """
    found = [
        f'{name} is not what its seed and the templates give.' for name in differences(folder, expected(folder))
    ]
    for one, other, cosine in dedup.near_pairs(load(folder).seeds, embedder):
        found.append(f'{one!r} and {other!r} are near: {cosine:.3f}.')
    return found


def expected(folder: Path) -> dict[str, str]:
    """What a folder's files should hold by the seed they name. Raises CarQAError where they name none."""
    seed, near = files.origin(folder)
    data = generate(seed, files.shipped() / files.TEMPLATES, packaged.config_dir() / 'antonyms.yaml', near)
    return files.contents(data, seed, near)


def differences(folder: Path, contents: Mapping[str, str]) -> list[str]:
    """The files of a folder that are not, byte for byte, these."""
    return [
        name for name, text in contents.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != text.encode()
    ]


def _report(wrong: Sequence[str]) -> int:
    print('\n'.join(wrong) or 'All files are what their seed and the templates give, and no two seeds are near.')  # noqa: T201
    return 1 if wrong else 0
