"""How the numbers of the study of serving came about, and what they cannot show."""
from __future__ import annotations

import dataclasses
from typing import Any

import pandas as pd

from pace_ros.serving.simulator.hardware import PowerLaw
from pace_ros.study.results.methods import Section
from pace_ros.study.serving.arms import SMALL_CHUNK
from pace_ros.study.serving.cell_run import SHORTEST
from pace_ros.study.serving.nominal import BATCH
from pace_ros.study.serving.plan import Plan
from pace_ros.study.serving.rig import CHUNK, DECODER, POWER, PREFILLER, WAIT, costs_of
from pace_ros.study.serving.rows import Results
from pace_ros.study.serving.served import PAUSE

_MODEL = (
    'Simulated: a discrete-event model of each replica, which takes one step at a time (a piece of a prompt, one token '
    "for every stream, or both), under the gateway's own code for placement, ledger and admission. Nothing here was "
    'served by an accelerator. Whether the model agrees with real replicas is measured by '
    'benchmarks/serving_validation.py.')
_LOAD = (
    'Load 1 is the nominal capacity of pinned serving, reckoned without queues from the conversations drawn: the rate '
    "at which the first of four is used up, the prefillers' time by first prompts, the decoders' time by everything "
    f"else (steps shared by {BATCH} streams), the decoders' KV caches, their slots. All arms of a seed get the same "
    'conversations at the same instants, Poisson; each next turn comes a think time after the answer (closed loop). '
    'Role-blind policies (collocated, least loaded, round robin) use all replicas as they are, so that all arms have '
    'the same hardware.')
_WORKLOADS = (
    'Agents: a public trace; text alone counts as for the user, so that a conversation may need several turns to its '
    'first visible token. Chats: requests of the Mooncake trace that repeat the blocks of another are its next turn. '
    "Showroom: CarQA's questions in the robot's own prompts, visits of five turns on average. Two-phase: synthetic. "
    f'Pauses longer than {PAUSE:g} s are cut to that, and conversations end before they exceed a context: both traces '
    'are milder here than they were.')
_LIMITS = (
    'A run ends when its last conversation does, so that energy per token has the idle time of the tail in it. The '
    "predictor's wrong predictions are drawn at random; what a real one gets wrong is likely to be worse where it "
    'matters. Intervals resample conversations or turns within seeds; these share queues, so that true intervals are '
    'wider. Engines that page their caches, share prefixes between conversations, or batch otherwise differ.')


def sections(results: Results) -> list[Section]:
    """All sections."""
    return [
        Section('The model', (_MODEL, _costs(results)), _cost_table(results)),
        Section('Load and workloads', (_LOAD, _WORKLOADS)),
        Section('SLO', (_slo(results),)),
        Section('Energy', (_energy(),)),
        Section('Limits', (_LIMITS, *_left_out(results))),
        Section('The run', ('Settings, machine and versions.',), _plan_table(results)),
    ]


def markdown(results: Results) -> str:
    """The same as a text file."""
    parts = ['# Methods of the study of conversation-level serving']
    for each in sections(results):
        parts += [f'## {each.title}', *each.paragraphs]
        if len(each.table):
            parts.append('\n'.join(f'- {": ".join(map(str, row))}' for row in each.table.itertuples(index=False)))
    return '\n\n'.join(parts) + '\n'


def plan_of(results: Results) -> Plan:
    """What was asked for."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in results.plan['plan'].items()
    }
    return Plan(**fields)


def _costs(results: Results) -> str:
    if results.plan['plan']['costs']:
        return 'Costs: fitted to measurements of real replicas by `study serving calibrate`.'
    return ('Costs: assumed from data sheets (a dense model of 8 billion parameters on an accelerator of 312 TFLOP/s '
            f'and 2 TB/s, half of the one and 70 % of the other reached), steps of at most {CHUNK} prompt tokens, '
            f'{SMALL_CHUNK} with small batches. An assumption, not a measurement.')


def _cost_table(results: Results) -> pd.DataFrame:
    costs = dataclasses.asdict(costs_of(plan_of(results)))
    return pd.DataFrame({'cost': list(costs), 's, bytes or bytes/s': [f'{each:.4g}' for each in costs.values()]})


def _slo(results: Results) -> str:
    plan = plan_of(results)
    return (f'A turn violates the SLO if its first token comes later than {plan.slo:g} times what reading the part of '
            f'its prompt that no cache could hold takes alone, and than {SHORTEST:g} s, or never. The paper has an SLO '
            f'of its own, not at hand. Turns wait up to {WAIT:g} s for room before they are refused.')


def _energy() -> str:
    law = PowerLaw()
    return (f'Modelled, not measured: each replica draws {POWER.idle:g} W idle, {POWER.prefill:g} W reading, '
            f'{POWER.decode:g} W answering. Heterogeneous: a limit of {PREFILLER:g} W on the prefiller, {DECODER:g} W '
            f'on decoders; speed is taken to follow (limit / full) to the power of {law.prefill:g} in reading, '
            f'{law.decode:g} in answering. This assumption decides much of the result.')


def _left_out(results: Results) -> list[str]:
    return [f'Left out: {each}.' for each in results.plan.get('left_out', {}).values()]


def _plan_table(results: Results) -> pd.DataFrame:
    fields = {**results.plan['plan'], **results.plan['machine'], **results.plan['versions']}
    fields['costs'] = 'calibrated' if fields['costs'] else 'data sheet'
    values = [', '.join(map(str, each)) if isinstance(each, list) else str(each) for each in fields.values()]
    return pd.DataFrame({'setting': list(fields), 'value': values})
