"""How the numbers of the study of serving came about, and what they cannot show."""
from __future__ import annotations

import dataclasses
from typing import Any

import pandas as pd

from pace_ros.serving.policies.predicted import HELD_UP, SHARE
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
    'Simulated: a discrete-event model of each replica, which takes one step at a time (a piece of a prompt, one '
    "token for every stream, or both), under the gateway's own code for placement, ledger and admission. A slot "
    'holds what was last read or restored into it, as with llama.cpp: a prompt finds what it has in common with '
    'that, and nothing else. Prompts to be handed over are read one after the other, each when the cache before '
    'it has arrived, as at the gateway. Nothing here was served by an accelerator. Whether the model agrees with '
    'real replicas is measured by benchmarks/serving_validation.py.')
_OWN = (
    'Each slot has a cache of its own. As with llama.cpp, a step takes together only streams whose slots have '
    'consecutive numbers, once through the model each run of them, and each prompt alone, be it a single token. A slot '
    'that the server chooses has the number that the gateway would have chosen, the lowest free one, so that least '
    'loaded, round robin and what is not handed over have more neighbours here than they would. The arm with a prefix '
    'cache, an engine of another kind, takes all streams together.')
_ARMS = (
    'Disaggregated per turn: on a prefiller the gateway gives a turn the first free slot. It was emptied, or another '
    'conversation has been there, so that most prompts are read whole, as by real llama.cpp replicas. With a prefix '
    'cache: each replica finds any prefix that it has read lately, as engines that page their caches do, and '
    "turns are let in without the gateway's meter of prompt tokens, which cannot know what such a cache spares: "
    'the strongest form of this baseline that the model has.')
_PREDICTED = (
    'Predicted per turn: a baseline of our own making, not that of the paper. It is told what a gateway can '
    'observe, and more: the tokens that wait at each replica, measured reading rates, what is held where, the '
    'true length of every answer (but for the errors injected), what a token and a hand-over take in the mean '
    'with the steps that both ends finish first. It takes the way with the least sum of its own time, '
    f'{HELD_UP:.0%} of the delay of those answered where it reads and {SHARE:.0%} of what it costs those answered '
    'beside it. Any replica may read for it, and admission counts what all of them can read. It is greedy: it '
    'leaves no room for turns to come, and a cache that moves keeps both ends from their steps. Where prefillers '
    'are near their limit it may hold up first turns by later ones that it has sent there.')
_LOAD = (
    'Load 1 is the nominal capacity of pinned serving, reckoned without queues from the conversations drawn: the '
    "rate at which the first of four is used up, the prefillers' time by first prompts and hand-overs, the "
    f"decoders' time by everything else (steps shared by {BATCH} streams), the decoders' KV caches, their slots. "
    'Larger batches share more, so that a fleet whose decoders bind can take more than that. All arms of a seed '
    'get the same conversations at the same instants, Poisson; each next turn comes a think time after the answer'
    ' (closed loop). Role-blind policies (collocated, least loaded, round robin) use all replicas as they are, so'
    ' that all arms have the same hardware.')
_WORKLOADS = (
    'Agents: a public trace; text alone counts as for the user, so that a conversation may need several turns to '
    'its first visible token. Chats: requests of the Mooncake trace that repeat the blocks of another are its '
    "next turn. Showroom: CarQA's questions in the robot's own prompts, visits of five turns on average. Two-"
    f'phase: synthetic. Pauses longer than {PAUSE:g} s are cut to that, and conversations end before they exceed a'
    ' context: both traces are milder here than they were. Visits open with the persona, chats with one block '
    'that all have: a slot in which another conversation was last has that much of a prompt. The Azure trace has '
    'single requests, neither conversations nor prefixes: nothing about pinning can be learnt from it, and it is '
    'not used.')
_LIMITS = (
    'A run ends when its last conversation does, so that energy per token has the idle time of the tail in it. The '
    "predictor's wrong predictions are drawn at random; what a real one gets wrong is likely to be worse where it "
    'matters. Intervals resample conversations or turns within seeds; these share queues, so that true intervals are '
    'wider. Engines that page their caches (but for the arm with a prefix cache) or batch otherwise differ. Replicas '
    'that share memory bandwidth slow each other down: not modelled.')


def sections(results: Results) -> list[Section]:
    """All sections."""
    return [
        Section('The model', (_MODEL, *_own_caches(results), _costs(results)), _cost_table(results)),
        Section('The arms', (_ARMS, _PREDICTED)),
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


def _own_caches(results: Results) -> list[str]:
    return [] if plan_of(results).kv else [_OWN]


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
