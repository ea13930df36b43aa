"""``study serving``: run the study of conversation-level serving, report on it, or calibrate its costs."""
from __future__ import annotations

import argparse
import importlib
import signal
from collections.abc import Mapping
from types import FrameType

COMMANDS: Mapping[str, tuple[str, str]] = {
    'run': ('pace_ros.study.serving.run_command', 'simulate fleets under every policy, or go on where it was stopped'),
    'report': ('pace_ros.study.serving.report', 'tables, figures and one HTML page of a run'),
    'calibrate': ('pace_ros.study.serving.calibration', 'measure a real replica and fit the costs of the simulator'),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    commands = parser.add_subparsers(dest='serving', required=True, metavar='COMMAND')
    for name, (module, purpose) in COMMANDS.items():
        importlib.import_module(module).add_arguments(commands.add_parser(name, help=purpose, description=purpose))


def run(options: argparse.Namespace) -> int:
    """Run one command; its exit code. Raises what it raises."""
    signal.signal(signal.SIGTERM, _interrupt)
    code: int = importlib.import_module(COMMANDS[options.serving][0]).run(options)
    return code


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Being told to end is like being interrupted: what was started ends, too."""
    raise KeyboardInterrupt
