"""The same conversations through real replicas and through the simulator, metric by metric."""
from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import httpx
import pandas as pd

from pace_ros.serving.fleet import fleet_of
from pace_ros.serving.simulator.costs import Costs
from pace_ros.serving.simulator.hardware import Hardware
from pace_ros.serving.simulator.script import Script, TurnScript, Workload
from pace_ros.serving.simulator.simulation import simulate
from pace_ros.serving.simulator.workloads.arrivals import at_times
from pace_ros.study.live_serving.audit import samples_of
from pace_ros.study.live_serving.brochure import brochure
from pace_ros.study.live_serving.visitor import ANSWERED, PATIENCE, Visitor

METRICS = {
    'first turns, first token P50 (s)': ('first', 'ttft', 0.5),
    'first turns, first token P95 (s)': ('first', 'ttft', 0.95),
    'later turns, first token P50 (s)': ('later', 'ttft', 0.5),
    'later turns, first token P95 (s)': ('later', 'ttft', 0.95),
    'between two tokens, median of means (s)': ('all', 'tbt_mean', 0.5),
    'later turns, tokens read where answered, P50': ('later', 'new', 0.5),
    'prompt tokens read by all replicas together': ('all', 'fleet_read', 0.5),
}
"""What is compared: which turns, which column, which quantile."""


@dataclass(frozen=True)
class Visits:
    """So many conversations, one every ``every`` s, of ``turns`` turns ``think`` s apart; about so many tokens. Those
    of two ``series`` have no text in common: what one has left in the slots is of no use to another.

    The defaults let visits overlap, so that one takes another's slot, and do so clearly: on a replica that is a quarter
    slower each prompt finds as much. Otherwise a small error of the costs would change what is compared.
    """

    count: int = 8
    turns: int = 3
    every: float = 12.0
    think: float = 5.0
    first: int = 160
    append: int = 30
    answer: int = 16
    series: int = 0


async def visit_all(base_url: str, visits: Visits) -> pd.DataFrame:
    """Real turns: conversation, turn, arrival (s since the first), prompt, answer, new (tokens read where it was
    answered), ttft, tbt_mean, outcome, and fleet_read (prompt tokens read by all replicas in the whole run).
    """
    rows: list[dict[str, Any]] = []
    begun = time.monotonic()
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
        before = await _read(http, base_url)
        async with anyio.create_task_group() as group:
            for number in range(visits.count):
                visitor = Visitor(http, base_url, f'visit-{number}', brochure(visits.first, _seed(visits, 0, number)))
                group.start_soon(_visit, visitor, visits, number, begun, rows)
        read = await _read(http, base_url) - before
    return pd.DataFrame(rows).assign(fleet_read=read).sort_values(['conversation', 'turn'], ignore_index=True)


async def _read(http: httpx.AsyncClient, base_url: str) -> float:
    """Prompt tokens that all replicas have read so far, as the gateway counts them."""
    return samples_of((await http.get(f'{base_url.removesuffix("/v1")}/metrics')).text)['l2_gateway_read_total', '']


def _seed(visits: Visits, turn: int, number: int) -> int:
    return 1_000_000 * visits.series + 1000 * turn + number


async def _visit(visitor: Visitor, visits: Visits, number: int, begun: float, rows: list[dict[str, Any]]) -> None:
    await anyio.sleep(max(0.0, begun + number * visits.every - time.monotonic()))
    for turn in range(1, visits.turns + 1):
        text = 'Which one is quiet?' if turn == 1 else brochure(visits.append, _seed(visits, turn, number))
        heard = await visitor.ask(text, max_tokens=visits.answer)
        pieces = heard.pieces
        rows.append({
            'conversation': visitor.conversation, 'turn': turn, 'arrival': heard.sent - begun, 'prompt': heard.prompt,
            'answer': max(1, len(pieces)), 'new': heard.prompt - heard.cached, 'ttft': heard.ttfet,
            'outcome': heard.outcome,
            'tbt_mean': (pieces[-1] - pieces[0]) / (len(pieces) - 1) if len(pieces) > 1 else float('nan'),
        })
        if heard.outcome != ANSWERED:
            return
        await anyio.sleep(visits.think)
    await visitor.end()


def workload_of(real: pd.DataFrame, visits: Visits) -> Workload:
    """The same conversations with the token counts that were seen, beginning when they did."""
    times, scripts = [], []
    for key, rows in real.groupby('conversation', sort=False):
        held = 0
        turns: list[TurnScript] = []
        for row in rows.itertuples():
            prompt, answer = max(1, int(row.prompt)), int(row.answer)
            turns.append(TurnScript(prompt, answer, shared=min(held, prompt), limit=visits.answer,
                                    think=visits.think if turns else 0.0))
            held = prompt + answer
        times.append(float(rows['arrival'].iloc[0]))
        scripts.append(Script(str(key), tuple(turns)))
    return at_times('visits', times, scripts)


def simulated(described: Mapping[str, Any], costs: Costs, workload: Workload, *, chunk: int) -> pd.DataFrame:
    """The turns that the simulator gives of a fleet file's content. Raises ConfigError."""
    turns = simulate(fleet_of(described), Hardware(costs=costs, chunk=chunk), workload).turns
    new = turns['reread'].where(turns['read_at'] != turns['answered_at'], turns['read'])
    return turns.assign(new=new, fleet_read=float((turns['read'] + turns['reread']).sum()))


def errors(real: pd.DataFrame, simulation: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: real, simulated, and the error relative to the real one."""
    rows = []
    for name, (turns, column, quantile) in METRICS.items():
        values = [float(_of(each, turns)[column].quantile(quantile)) for each in (real, simulation)]
        rows.append({'metric': name, 'real': values[0], 'simulated': values[1], 'error': values[1] / values[0] - 1})
    return pd.DataFrame(rows)


def _of(frame: pd.DataFrame, turns: str) -> pd.DataFrame:
    kept: Sequence[bool] | pd.Series = {'first': frame['turn'] == 1, 'later': frame['turn'] > 1}.get(
        turns, frame['turn'] > 0)
    return frame.loc[kept]
