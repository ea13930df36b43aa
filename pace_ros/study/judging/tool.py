"""The command ``study judge``: scores of a language model for a run's answers, and agreement with people."""
from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import pandas as pd
from rich.console import Console
from rich.progress import Progress

from pace_ros.clock import SystemClock
from pace_ros.config_levels import L2
from pace_ros.llm import ChatClient, Endpoint, endpoint_of
from pace_ros.packaged import config_dir
from pace_ros.settings import ConfigError
from pace_ros.study.judging.blinding import Blinded, blinded
from pace_ros.study.judging.calibration import calibrate
from pace_ros.study.judging.error import JudgingError
from pace_ros.study.judging.human_scores import read_human_scores, with_quality, with_verdicts
from pace_ros.study.judging.judging_tables import agreement_tables, cost_line
from pace_ros.study.judging.llm_judge import LlmJudge, LlmVerdict, judge_settings
from pace_ros.study.judging.rubric import Rubric
from pace_ros.study.judging.verdict_file import NAME, VerdictFile, read_verdicts

REQUESTS = 'requests.parquet'
VARIABLES = ('BASE_URL', 'MODEL', 'API_KEY')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare DIR and the options."""
    parser.description = (
        'Have a language model score the answers of a run (DIR/verdicts.jsonl, goes on where it stopped), or compare '
        'judges with people. The key of the endpoint comes from $PACE_JUDGE_API_KEY alone.'
    )
    parser.add_argument('run', metavar='DIR', type=Path, help='folder of a run')
    parser.add_argument('--base-url', default='', help='OpenAI-compatible endpoint (default: $PACE_JUDGE_BASE_URL)')
    parser.add_argument('--model', default='', help='its model (default: $PACE_JUDGE_MODEL)')
    parser.add_argument('--sample', type=_count, default=0, metavar='N', help='requests to judge, 0 for all (default)')
    parser.add_argument('--seed', type=int, default=1, help='of the sample and the order (default 1)')
    parser.add_argument('--concurrency', type=_count, default=4, help='answers judged at a time (default 4)')
    parser.add_argument('--deadline', type=float, default=30.0, help='s a verdict may take (default 30)')
    parser.add_argument('--price-in', type=float, default=0.0, help='of a million tokens of the prompts')
    parser.add_argument('--price-out', type=float, default=0.0, help='of a million tokens of the replies')
    parser.add_argument('--rubric', type=Path, help='folder of rubric.zh.md and rubric.en.md (default: packaged)')
    parser.add_argument('--human', type=Path, metavar='FILE',
                        help='CSV of human scores (score, and answer_id or the key columns): compare, ask nothing')


def run(options: argparse.Namespace, transport: httpx.AsyncBaseTransport | None = None) -> int:
    """Run the command: 0 done, 1 stopped before the end. ``transport`` replaces the network.

    Raises JudgingError, ConfigError, MissingPackage.
    """
    rows = _rows(options.run / REQUESTS)
    return _judge(options, rows, transport) if options.human is None else _compare(options, rows)


def judge_endpoint(base_url: str, model: str, environment: Mapping[str, str]) -> Endpoint:
    """The judge's endpoint, by the variables of its own. Raises ConfigError."""
    own = {f'PACE_L2_{name}': environment.get(f'PACE_JUDGE_{name}', '') for name in VARIABLES}
    if not base_url and not own['PACE_L2_BASE_URL']:
        raise ConfigError('There is no judge: give --base-url, or set PACE_JUDGE_BASE_URL.')
    try:
        return endpoint_of(L2(base_url=base_url, model=model), own)
    except ConfigError as error:
        raise ConfigError(str(error).replace('The L2', "The judge's").replace('PACE_L2', 'PACE_JUDGE')) from error


def _judge(options: argparse.Namespace, rows: pd.DataFrame, transport: httpx.AsyncBaseTransport | None) -> int:
    if options.concurrency < 1 or options.deadline <= 0:
        raise JudgingError('--concurrency and --deadline must be greater than 0.')
    endpoint = judge_endpoint(options.base_url, options.model, os.environ)
    rubric = Rubric.read(options.rubric or config_dir() / 'judging')
    known = read_verdicts(options.run / NAME)
    items = blinded(rows, options.sample, options.seed)
    todo = [item for item in items if (found := known.get(item.answer_id)) is None or found.score is None]
    console = Console()
    console.print(f'{len(items)} answers, {len(items) - len(todo)} of them judged before')
    verdicts, stopped = asyncio.run(_ask(options, endpoint, rubric, todo, transport))
    console.print(cost_line(verdicts, options.price_in, options.price_out))
    if stopped:
        print(f'study judge: stopped: {stopped}; the same command goes on from there', file=sys.stderr)  # noqa: T201
    return 1 if stopped else 0


async def _ask(
    options: argparse.Namespace, endpoint: Endpoint, rubric: Rubric, todo: list[Blinded],
    transport: httpx.AsyncBaseTransport | None,
) -> tuple[list[LlmVerdict], str]:
    clock = SystemClock()
    settings = judge_settings(options.deadline)
    client = ChatClient(endpoint, lambda: settings, clock, transport)
    judge = LlmJudge(client, rubric, clock, deadline=options.deadline)
    verdicts: list[LlmVerdict] = []
    try:
        with VerdictFile(options.run / NAME) as file, Progress() as progress:
            bar = progress.add_task('judging', total=len(todo))

            def keep(verdict: LlmVerdict) -> None:
                file.add(verdict)
                verdicts.append(verdict)
                progress.advance(bar)

            stopped = await judge.judge(todo, keep, options.concurrency)
    finally:
        await client.aclose()
    return verdicts, stopped


def _compare(options: argparse.Namespace, rows: pd.DataFrame) -> int:
    human = read_human_scores(options.human)
    console = Console()
    for table in agreement_tables('reference judge', calibrate(with_quality(rows, human))):
        console.print(table)
    verdicts = read_verdicts(options.run / NAME)
    scores = {name: verdict.score for name, verdict in verdicts.items() if verdict.score is not None}
    if scores:
        for table in agreement_tables('language model', calibrate(with_verdicts(rows, human, scores))):
            console.print(table)
    return 0


def _rows(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
        raise JudgingError(f'{path} cannot be read: {error}.') from error


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f'{text} is less than 0')
    return value


