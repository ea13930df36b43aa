"""`bag`: record a session, look into it, replay it into a running robot, report on it."""
from __future__ import annotations

import argparse
import json
import logging
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from pace_ros.bags.bag_error import BagError
from pace_ros.bags.compare import TOLERANCE, Difference, decisive, differences, worded

if TYPE_CHECKING:
    from pace_ros.bags.info import Info
    from pace_ros.bags.script import Script

DIFFERS, REFUSED, ABSENT, INTERRUPTED = 1, 2, 3, 130
ROS = ('rclpy', 'rcl_interfaces', 'rosgraph_msgs', 'builtin_interfaces', 'pace_msgs')


def parser(*, reporting: bool = True) -> argparse.ArgumentParser:
    """The command line; the libraries a report needs are loaded only where it is ``reporting``."""
    whole = argparse.ArgumentParser(prog='bag', description=__doc__)
    commands = whole.add_subparsers(dest='command', required=True, metavar='COMMAND')
    _add_record(commands.add_parser('record', help='write all topics of a session until Ctrl-C'))
    _add_replay(commands.add_parser('replay', help='say it all again to a running node'))
    info = commands.add_parser('info', help='topics, conversations and turns')
    info.add_argument('bags', nargs='+', type=Path, metavar='BAG')
    info.add_argument('--json', action='store_true', help='one JSON object a bag')
    report_ = commands.add_parser('report', help='onsets, latencies and figures')
    if reporting:
        _add_report(report_)
    return whole


def _add_record(command: argparse.ArgumentParser) -> None:
    command.add_argument('out', type=Path, metavar='OUT', help='a folder that is not there yet')
    command.add_argument('--storage', choices=('mcap', 'sqlite3'), default='mcap', help='(default: %(default)s)')
    command.add_argument('--namespace', default='', help="the robot's namespace, e.g. robot1")
    command.add_argument('--topics', nargs='+', metavar='T', help="these instead of a session's topics")
    command.add_argument('--also', nargs='+', metavar='T', help='these too, e.g. speech_audio')
    command.add_argument('--all', action='store_true', help='every topic there is')
    command.add_argument('--text', choices=('auto', 'keep', 'omit'), default='auto',
                         help="what was said: as the robot's record.text allows (auto), or in any case")


def _add_replay(command: argparse.ArgumentParser) -> None:
    command.add_argument('bag', type=Path, metavar='BAG')
    pace = command.add_mutually_exclusive_group()
    pace.add_argument('--rate', type=_positive, default=1.0, metavar='R', help='spacing divided by R (default: 1)')
    pace.add_argument('--fast', dest='rate', action='store_const', const=math.inf, help='no spacing at all')
    what = command.add_mutually_exclusive_group()
    what.add_argument('--inputs', dest='all', action='store_false', default=False, help='utterances, user_speaking and '
                      'speaker_position (default)')
    what.add_argument('--all', action='store_true', default=False,
                      help='every topic, without waiting for anybody')
    command.add_argument('--clock', action='store_true', help='publish /clock, for nodes with use_sim_time')
    command.add_argument('--namespace', metavar='NS', help='of the robot spoken to (default: as recorded)')
    command.add_argument('--compare', action='store_true', help='say turn by turn what differs; exit code 1 if it does')
    command.add_argument('--tolerance', type=_positive, metavar='S',
                         help=f'PTFR that differs by more counts as a difference (not given: it is told beyond '
                              f'{TOLERANCE:g} s, and does not count)')
    command.add_argument('--patience', type=_positive, default=60.0, metavar='S',
                         help='wait that long for the end of a turn (default: %(default)g)')
    command.add_argument('--wait', type=_positive, default=10.0, metavar='S',
                         help='wait that long for the node (default: %(default)g)')
    command.add_argument('--json', action='store_true', help='the comparison as one JSON object')


def _add_report(command: argparse.ArgumentParser) -> None:
    try:
        from pace_ros.study import report  # noqa: PLC0415  pandas and matplotlib are needed for nothing else here
    except ImportError as error:
        command.set_defaults(missing=str(error))
        command.add_argument('rest', nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    else:
        report.add_arguments(command)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r} is no number above 0')
    return value


def record(options: argparse.Namespace) -> int:
    """`bag record`."""
    from pace_ros.ros.bag_record import run  # noqa: PLC0415  ROS is needed for nothing else here

    return run(options)


def info(options: argparse.Namespace) -> int:
    """`bag info`."""
    from pace_ros.bags.info import describe  # noqa: PLC0415  what it needs may be missing

    console = Console(highlight=False)
    for path in options.bags:
        found = describe(path)
        if options.json:
            sys.stdout.write(json.dumps(found.as_json(), ensure_ascii=False) + '\n')
        else:
            show(found, console)
    return 0


def show(found: Info, console: Console) -> None:
    """A bag on a terminal."""
    begin = time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(found.begin)) if found.messages else 'no message'
    cut = ', cut short' if found.cut else ''
    console.print(f'{found.path}: {found.storage}{cut}, {begin}, {found.duration:.1f} s, {found.messages} messages',
                  soft_wrap=True)
    topics = Table('topic', 'type', 'messages', box=None)
    for each in found.topics:
        topics.add_row(each.topic, each.type, str(each.count))
    console.print(topics)
    if found.conversations:
        turns = Table('conversation', 'utterances', 'turns', 'outcomes', 'paths', box=None)
        for name, one in found.conversations.items():
            turns.add_row(name, str(one.utterances), str(one.turns), _counts(one.outcomes), _counts(one.paths))
        console.print(turns)


def _counts(counter: Counter[str]) -> str:
    return ', '.join(f'{count} {name.lower()}' for name, count in counter.most_common())


def replay(options: argparse.Namespace) -> int:
    """`bag replay`."""
    if options.all and options.compare:
        raise BagError('--compare needs the turns of a running node: it goes with the inputs, not with --all.')
    from pace_ros.bags.script import read_script  # noqa: PLC0415  what it needs may be missing

    script = read_script(options.bag, everything=options.all)
    from pace_ros.ros import bag_replay  # noqa: PLC0415  ROS is needed for nothing else here

    console = Console(highlight=False, stderr=options.json)
    try:
        player, schedule = bag_replay.replay(script, options)
    except bag_replay.NoNode as error:
        sys.stderr.write(f'{error}\n')
        return ABSENT
    lost = f', {len(schedule.missing)} without an end' if schedule.missing else ''
    console.print(f'{player.published} messages published'
                  + ('' if options.all else f', {len(schedule.turns)} turns{lost}'))
    if not options.compare:
        return 0
    found = differences(script.recorded, player.replayed(schedule), tolerance=options.tolerance or TOLERANCE)
    _tell(found, script, options, console)
    return DIFFERS if decisive(found, durations=options.tolerance is not None) else 0


def _tell(found: Sequence[Difference], script: Script, options: argparse.Namespace, console: Console) -> None:
    compared = sum(each is not None for each in script.recorded)
    if options.json:
        result: dict[str, Any] = {'turns': compared, 'differences': [asdict(each) for each in found]}
        sys.stdout.write(json.dumps(_finite(result), ensure_ascii=False) + '\n')
        return
    for each in found:
        console.print(worded(each), markup=False, soft_wrap=True)
    differing = len({each.turn for each in found if each.what != 'ptfr'})
    console.print(f'{compared} turns compared: {differing} differ' if differing
                  else f'{compared} turns compared: same paths, answers, outcomes, frames and decisions')


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def report(options: argparse.Namespace) -> int:
    """`bag report`."""
    if missing := getattr(options, 'missing', ''):
        sys.stderr.write(f'bag report needs the packages in requirements/study.txt: {missing}\n')
        return REFUSED
    from pace_ros.study import report as study  # noqa: PLC0415  as above

    return int(study.run(options))


def main() -> None:
    """Run one command; 1: the replay differs or the disk refused, 2: refused, 3: no node, 130: interrupted."""
    logging.basicConfig(format='%(message)s')
    arguments = _own(sys.argv[1:])
    options = parser(reporting=arguments[:1] == ['report']).parse_args(arguments)
    try:
        code = {'record': record, 'replay': replay, 'info': info, 'report': report}[options.command](options)
        sys.stdout.flush()
        sys.exit(code)
    except BagError as error:
        sys.stderr.write(f'{error}\n')
        sys.exit(REFUSED)
    except ImportError as error:
        sys.stderr.write(f'{lacking(options.command, error)}\n')
        sys.exit(REFUSED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # whoever read has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def lacking(command: str, error: ImportError) -> str:
    """What to do about a package that is missing, in a sentence."""
    name = (error.name or '').partition('.')[0]
    if name in ROS:
        return f'bag {command} needs ROS 2 and the built pace_msgs, source their setup files: {error}'
    return f'bag {command} needs the packages in requirements/study.txt: {error}'


def _own(arguments: list[str]) -> list[str]:
    """Without what `ros2 run` and launch files append."""
    return arguments[:arguments.index('--ros-args')] if '--ros-args' in arguments else arguments


if __name__ == '__main__':
    main()
