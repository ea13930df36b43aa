"""The formats that a report is asked for on the command line."""
from __future__ import annotations

import argparse
from collections.abc import Callable


def formats_of(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """A type for argparse: names among ``known``, separated by commas, or all."""
    def formats(text: str) -> tuple[str, ...]:
        names = known if text == 'all' else tuple(filter(None, text.split(',')))
        unknown = sorted(set(names) - set(known))
        if unknown or not names:
            raise argparse.ArgumentTypeError(f'{", ".join(unknown) or text!r}: choose from {",".join(known)}, or all')
        return names

    return formats
