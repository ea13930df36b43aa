"""A stream in real time: simulated cloud and dialogue node as processes of their own, visitors over DDS."""
from __future__ import annotations

import contextlib
import json
import os
import select
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pace_msgs import msg
from pace_ros.config import Config
from pace_ros.record import read_turns
from pace_ros.ros.processes import START_DEADLINE, ProcessError, executable, started, wait_for_line
from pace_ros.ros.spot_cloud import Announcer
from pace_ros.ros.spot_rows import spot_rows
from pace_ros.ros.spot_visitors import SpotVisitors
from pace_ros.settings import Setting, settings_of, value_of, with_values
from pace_ros.study.workload.request import Request
from pace_ros.turn import Arm, TurnRecord

MARGIN = 10.0  # s beyond the longest answer for the last turns
NODE_PATIENCE = 20.0  # s that the node may take to put everything on disk


@dataclass(frozen=True)
class RealRun:
    """An arm under one stream of requests.

    ``settings`` are the node's parameters by dotted name. ``switches`` go with every utterance; they are obeyed where
    the settings have ``allow_overrides``. ``cloud`` is the command that starts the simulated cloud, which prints its
    base URL; empty: ``l2.base_url`` of the settings. ``announces``: it is told of every question, as spot_cloud wants.
    ``snapshot`` is the cache file to start from, None: empty.
    """

    arm: str
    requests: tuple[Request, ...]
    dataset: str
    seed: int
    settings: Mapping[str, object]
    switches: Arm = field(default_factory=Arm)
    cloud: tuple[str, ...] = ()
    announces: bool = False
    snapshot: Path | None = None


def in_real_time(
    run: RealRun, folder: Path, *, environment: Mapping[str, str] | None = None,
    on_progress: Callable[[int, int], None] = lambda _sent, _ended: None,
) -> list[dict[str, Any]]:
    """Send the stream to a real node and return one row a request; logs, records and cache are left in ``folder``.

    Raises ConfigError for a setting the node would refuse, ProcessError and RobotAbsent where a process does not start
    or has ended by itself, KeyboardInterrupt on a signal; no process is left running.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in ('turns.jsonl', 'l0.sqlite', 'l0.sqlite-wal', 'l0.sqlite-shm', 'router.json'):
        (folder / old).unlink(missing_ok=True)
    surroundings = dict(os.environ if environment is None else environment)
    namespace = f'/spot_{os.getpid()}'  # no other robot on this machine hears these visitors
    with _cloud(run.cloud, folder, surroundings) as base_url:
        config = node_config(run, folder, base_url)
        if run.snapshot is not None:
            copy_snapshot(run.snapshot, folder / 'l0.sqlite')
        with (
            _dialogue(config, folder, surroundings, namespace) as alive,
            SpotVisitors(namespace, _message(run.switches)) as visitors,
            Announcer(base_url if run.announces else '') as announcer,
        ):
            visitors.wait_for_robot(START_DEADLINE, alive)
            visits = visitors.play(
                run.requests, hypotheses=config.speculation.enabled, patience=config.l2.total_timeout + MARGIN,
                announce=announcer.tell, check=alive, on_progress=on_progress,
            )
    if announcer.untold:
        raise ProcessError(f'The simulated cloud was not told of {announcer.untold} questions; see {folder}.')
    return spot_rows(
        run.requests, _records(folder / 'turns.jsonl'), visits, arm=run.arm, dataset=run.dataset, seed=run.seed,
    )


def node_config(run: RealRun, folder: Path, base_url: str) -> Config:
    """The node's configuration in a run: its data in ``folder``, text recorded. Raises ConfigError."""
    own: dict[str, object] = dict.fromkeys(('l0.file', 'record.file', 'router.file'), '')
    own |= {'data_dir': str(folder), 'record.text': True}
    if base_url:
        own['l2.base_url'] = base_url
    if not run.switches.is_empty():
        own['allow_overrides'] = True
    return with_values(Config(), {**run.settings, **own})


def write_parameters(config: Config, file: Path) -> None:
    """A parameter file with all that is not at its default."""
    changed = ((each, value_of(config, each.name)) for each in settings_of(Config))
    lines = [f'    {each.name}: {_yaml(each, value)}' for each, value in changed if value != each.default]
    file.write_text('\n'.join(['/**:', '  ros__parameters:', *lines, '']), encoding='utf-8')


def _yaml(setting: Setting, value: object) -> str:
    if isinstance(setting.default, tuple):
        return json.dumps(list(value) or [''], ensure_ascii=False)  # type: ignore[call-overload]  # a tuple as well
    return json.dumps(value, ensure_ascii=False)


def copy_snapshot(snapshot: Path, file: Path) -> None:
    """A cache file with what its journal holds, as a new file. Raises ProcessError if it is none."""
    if not snapshot.is_file():
        raise ProcessError(f'There is no cache snapshot {snapshot}.')
    try:
        with (
            contextlib.closing(sqlite3.connect(f'{snapshot.resolve().as_uri()}?mode=ro', uri=True)) as source,
            contextlib.closing(sqlite3.connect(file)) as target,
        ):
            source.backup(target)
    except sqlite3.Error as error:
        raise ProcessError(f'The cache snapshot {snapshot} cannot be read: {error}.') from error


@contextlib.contextmanager
def _cloud(command: Sequence[str], folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """The base URL that a cloud prints once it serves; empty without a command."""
    if not command:
        yield ''
        return
    log = folder / 'cloud.log'
    with started(list(command), log, environment, piped=True) as process:
        assert process.stdout is not None  # noqa: S101  it is a pipe
        ready, _, _ = select.select([process.stdout], [], [], START_DEADLINE)
        url = process.stdout.readline().strip() if ready else ''
        if not url.startswith('http'):
            raise ProcessError(f'The simulated cloud does not start; see {log}.')
        yield url
        if process.poll() is not None:
            raise ProcessError(f'The simulated cloud has ended by itself; see {log}.')


@contextlib.contextmanager
def _dialogue(
    config: Config, folder: Path, environment: dict[str, str], namespace: str
) -> Iterator[Callable[[], None]]:
    """The node, listening; what is yielded raises ProcessError if the node has ended by itself."""
    parameters, log = folder / 'parameters.yaml', folder / 'dialogue.log'
    write_parameters(config, parameters)
    command = [*executable('dialogue'), '--ros-args', '--params-file', str(parameters), '-r', f'__ns:={namespace}']
    with started(command, log, environment, patience=NODE_PATIENCE) as process:
        wait_for_line(process, log, 'listening')

        def check() -> None:
            _running(process, log)

        yield check
        check()


def _running(process: subprocess.Popen[str], log: Path) -> None:
    if process.poll() is not None:
        raise ProcessError(f'The dialogue node has ended by itself with code {process.returncode}; see {log}.')


def _records(file: Path) -> list[TurnRecord]:
    if not file.is_file():
        raise ProcessError(f'The dialogue node has left no records in {file}.')
    return list(read_turns(file))


def _message(switches: Arm) -> msg.Arm:
    names = ('label', 'router', 'filler', 'volatility', 'l0', 'l1', 'rag', 'persona')
    return msg.Arm(**{name: getattr(switches, name) for name in names})
