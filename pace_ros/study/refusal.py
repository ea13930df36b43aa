"""How a command of the study says that it cannot do what it is asked."""
from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool

from pace_ros.embedding import EmbeddingError
from pace_ros.facts import AntonymError
from pace_ros.packaged import MissingPackage
from pace_ros.settings import ConfigError


class Refusal(ValueError):
    """What cannot be done as asked; the message is for people, and names what is at fault."""


_OTHERS = (ConfigError, MissingPackage, EmbeddingError, AntonymError, BrokenProcessPool)


def refusing(command: str, run: Callable[[], int]) -> int:
    """The exit code of ``run``; 2 after one sentence on what it refuses, or on a file it cannot read or write."""
    try:
        return run()
    except BrokenPipeError:  # the reader has left: no refusal
        raise
    except (Refusal, *_OTHERS) as error:
        sys.stderr.write(f'{command}: {error}\n')
    except OSError as error:
        file = f'{error.filename}: ' if error.filename else ''
        sys.stderr.write(f'{command}: {file}{error.strerror or error}\n')
    return 2
