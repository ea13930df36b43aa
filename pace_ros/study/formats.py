"""What a report is asked for on the command line."""
from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def add_report_arguments(
    parser: argparse.ArgumentParser, *, folder: str, known: tuple[str, ...], published: str
) -> None:
    """The options of a report on a run: ``folder`` says of which one, ``published`` is the packaged file of numbers."""
    parser.add_argument('folder', metavar='DIR', type=Path, help=folder)
    parser.add_argument('--out', metavar='DIR', type=Path, help='folder for files (default: DIR/report)')
    parser.add_argument('--format', default='all', type=formats_of(known), metavar='LIST',
                        help=f'any of {",".join(known)}, or all (default: all)')
    parser.add_argument('--published', metavar='FILE', type=Path,
                        help=f'published numbers (default: the packaged config/{published})')


def formats_of(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """A type for argparse: names among ``known``, separated by commas, or all."""
    def formats(text: str) -> tuple[str, ...]:
        names = known if text == 'all' else tuple(filter(None, text.split(',')))
        unknown = sorted(set(names) - set(known))
        if unknown or not names:
            raise argparse.ArgumentTypeError(f'{", ".join(unknown) or text!r}: choose from {",".join(known)}, or all')
        return names

    return formats
