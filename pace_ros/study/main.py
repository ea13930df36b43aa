"""``study``: the evaluation from the command line."""
from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping

from pace_ros.study.refusal import refusing

COMMANDS: Mapping[str, tuple[str, str]] = {
    'run': ('pace_ros.study.evaluation.tool',
            'run parts of the evaluation, or go on where it was stopped (run serving: simulate fleets)'),
    'report': ('pace_ros.study.results.tool', 'tables, figures and one HTML page of a run'),
    'compare': ('pace_ros.study.compare', 'two runs side by side'),
    'spot': ('pace_ros.study.spot', 'a run in real time against one in virtual time'),
    'judge': ('pace_ros.study.judging.tool', 'have a language model judge a run, or compare judges with people'),
    'gate': ('pace_ros.study.gate_replay', 'replay the gate on a log'),
    'calibrate': ('pace_ros.study.calibrate', 'propose load anchors and thresholds from a log'),
    'carqa': ('pace_ros.study.carqa.tool', 'generate, check or show the data set CarQA'),
    'cloud': ('pace_ros.study.cloud.tool', 'the simulated cloud as a server on this machine'),
    'serving': ('pace_ros.study.serving.tool', 'conversation-level serving: simulate fleets, report, calibrate'),
    'fillers': ('pace_ros.study.virtual.measure_fillers', 'measure the filler model, for virtual time'),
}
"""Modules with ``add_arguments(parser)`` and ``run(options) -> exit code``, imported when they are asked for. What they
raise of ``refusing`` becomes one sentence."""


def main(argv: list[str] | None = None) -> None:
    """Run one command and end the process with its code."""
    words = sys.argv[1:] if argv is None else argv
    if words[:2] == ['run', 'serving']:  # a study of its own, with options of its own
        words = ['serving', 'run', *words[2:]]
    parser = argparse.ArgumentParser(prog='study', description='The evaluation: docs/study.md goes through it.')
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    for name, (module, purpose) in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose)
        if words[:1] == [name]:
            importlib.import_module(module).add_arguments(command)
    options = parser.parse_args(words)
    run = importlib.import_module(COMMANDS[options.command][0]).run
    try:
        code = refusing(f'study {options.command}', lambda: run(options))
    except KeyboardInterrupt:
        sys.stderr.write('interrupted\n')
        code = 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; nothing more is written
        code = 1
    sys.exit(code)


if __name__ == '__main__':
    main()
