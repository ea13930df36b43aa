"""What a command is told, apart from what ROS 2 adds."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

ROS, END = '--ros-args', '--'


def own_words(words: Sequence[str] | None = None) -> list[str]:
    """A command line (default: this process's) without what stands from ``--ros-args`` to ``--`` or the end, which
    launch files and ``ros2 run`` add: whatever else a command does not know is a mistake.
    """
    own: list[str] = []
    ros = False
    for word in sys.argv[1:] if words is None else words:
        if word == ROS:
            ros = True
        elif ros:
            ros = word != END
        else:
            own.append(word)
    return own


def port(text: str) -> int:
    """A port as an option's value. Raises argparse.ArgumentTypeError."""
    if not text.isdecimal() or int(text) >= 1 << 16:
        raise argparse.ArgumentTypeError(f'must be from 0 to 65535, not {text!r}')
    return int(text)
