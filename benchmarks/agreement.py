"""Observed onsets against the simulated robot's own, in a whole session.

    scripts/campaign.sh agreement [TURNS [SEED] | BAG]

Scripted visitors talk to the simulated robot and interrupt it (as `session` does), or a bag of such a session is taken.
Exit code 1 unless in each modality onsets were observed within 20 ms at P95, few were missed, and none was unfounded or
attributed to a wrong turn.
"""
from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path as FilePath

os.environ.setdefault('ROS_DOMAIN_ID', '76')
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

from rich.console import Console

from pace_ros.bags.info import describe
from pace_ros.ros.processes import START_DEADLINE, exit_on_sigterm
from pace_ros.ros.session import embodied_robot, recorded, say_how_it_went, script, visit
from pace_ros.ros.visitors import Visitors
from pace_ros.study.agreement import agreement_of


def session(folder: FilePath, turns: int, seed: int) -> FilePath:
    """Let visitors talk to the robot; returns the bag."""
    environment = dict(os.environ)
    with embodied_robot(folder, environment), recorded(folder, environment, 'mcap') as bag, Visitors() as visitors:
        visitors.wait_for_robot(START_DEADLINE)
        visit(visitors, script(turns, seed), Console(stderr=True))
    return bag


def judge(bag: FilePath) -> int:
    """Print what was seen; returns the exit code."""
    for name, each in describe(bag).conversations.items():
        print(f'{name}: {each.turns} turns, {dict(each.outcomes)}, {dict(each.paths)}')
    return say_how_it_went(agreement_of(bag), Console(width=110))


def main() -> int:
    """Run and print."""
    exit_on_sigterm()
    if len(sys.argv) > 1 and not sys.argv[1].isdigit():
        return judge(FilePath(sys.argv[1]))
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        return judge(session(FilePath(folder), turns, seed))


if __name__ == '__main__':
    sys.exit(main())
