"""The package's executables as processes of a demo, a session or a campaign: started, watched, ended."""
from __future__ import annotations

import contextlib
import json
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path as FilePath
from types import FrameType

from pace_ros import packaged

START_DEADLINE = 90.0  # s
STOP_DEADLINE = 5.0  # s
MODULES = {
    'bag': 'pace_ros.bags.tool',
    'dialogue': 'pace_ros.ros.dialogue',
    'local_llm': 'pace_ros.serving.local_llm',
    'onset_observer': 'pace_ros.ros.onset_observer',
    'sim_robot': 'pace_ros.ros.sim_robot',
}
# What the local stand-in needs: little to read, one sentence to say, and patience on a small machine.
STAND_IN = {
    'l1.top_k': '2',
    'l2.extra_body': json.dumps(json.dumps({'stop': ['\n', '. ']})),
    'l2.first_token_timeout': '20.0',
    'l2.inter_token_timeout': '20.0',
    'l2.total_timeout': '50.0',
    'l2.temperature': '0.0',
}


class ProcessError(RuntimeError):
    """A process does not start, or has ended by itself; the message says which, and where its log is."""


def executable(name: str) -> list[str]:
    """How to start one of the package's executables with this interpreter and environment."""
    return [sys.executable, '-m', MODULES[name]]


@contextlib.contextmanager
def started(
    command: list[str], log: FilePath, environment: dict[str, str], *, piped: bool = False,
    patience: float = STOP_DEADLINE,
) -> Iterator[subprocess.Popen[str]]:
    """Run a process in the background, what it prints in ``log``, or its standard output ``piped`` to us; leaving ends
    it, by force if it has not ended after ``patience`` s.
    """
    with log.open('w') as errors:
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE if piped else errors, stderr=errors, text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def exit_on_sigterm() -> None:
    """Let SIGTERM unwind the program as Ctrl-C does, so that what it has started is ended."""
    def on_signal(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, on_signal)


@contextlib.contextmanager
def cloud(folder: FilePath, environment: dict[str, str], *, delay: float = 0.0) -> Iterator[str]:
    """The language model's base URL: the environment's, else a local stand-in started for the while, which holds every
    request back by ``delay`` s.
    """
    if environment.get('PACE_L2_BASE_URL'):
        yield environment['PACE_L2_BASE_URL']
        return
    command = [*executable('local_llm'), '--port', '0', '--delay', str(delay)]
    with started(command, folder / 'local_llm.log', environment, piped=True) as process:
        assert process.stdout is not None  # noqa: S101  it is a pipe
        ready, _, _ = select.select([process.stdout], [], [], START_DEADLINE)
        url = process.stdout.readline().strip() if ready else ''
        if not url.startswith('http'):
            raise ProcessError(f'The local language model does not start; see {folder / "local_llm.log"}.')
        yield url


@contextlib.contextmanager
def robot(
    folder: FilePath, base_url: str, environment: dict[str, str], *further: str
) -> Iterator[subprocess.Popen[str]]:
    """The dialogue node, on the model at ``base_url``, keeping its data in ``folder``; ``further`` are parameters, as
    name:=value.
    """
    parameters = [f'data_dir:={folder}', *further]
    if not environment.get('PACE_L2_BASE_URL'):
        parameters += [f'{name}:={value}' for name, value in STAND_IN.items()]
        parameters.append(f'l2.persona_file:={packaged.config_dir() / "persona.local_llm.yaml"}')
    with node('dialogue', folder, {**environment, 'PACE_L2_BASE_URL': base_url}, *parameters) as process:
        yield process


@contextlib.contextmanager
def node(
    name: str, folder: FilePath, environment: dict[str, str], *parameters: str
) -> Iterator[subprocess.Popen[str]]:
    """A node of the package with its parameters, as name:=value; its log is in ``folder``. Raises ProcessError at the
    end if it has ended by itself.
    """
    command = [*executable(name), '--ros-args', *(part for each in parameters for part in ('-p', each))]
    log = folder / f'{name}.log'
    with started(command, log, environment) as process:
        yield process
        if process.poll() is not None:
            raise ProcessError(f'The node {name} has ended; see {log}.')


def wait_for_line(process: subprocess.Popen[str], log: FilePath, text: str, deadline: float = START_DEADLINE) -> None:
    """Wait until a process's log holds ``text``. Raises ProcessError if it ends or does not within ``deadline`` s."""
    end = time.monotonic() + deadline
    while text not in log.read_text(errors='replace'):
        if process.poll() is not None or time.monotonic() > end:
            raise ProcessError(f'{log.stem} does not start; see {log}.')
        time.sleep(0.05)
