"""What the simulated fleets are asked: the study's workloads by name."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from pace_ros.serving.simulator.script import Script
from pace_ros.serving.simulator.workloads.agent import read_agent
from pace_ros.serving.simulator.workloads.chats import read_mooncake
from pace_ros.serving.simulator.workloads.two_phase import TwoPhase
from pace_ros.study.refusal import Refusal

TWO_PHASE, AGENT, CHAT, SHOWROOM = 'two-phase', 'agent', 'chat', 'showroom'
WORKLOADS = (TWO_PHASE, AGENT, CHAT, SHOWROOM)
DRAWN = 300  # synthetic conversations to draw from
PAUSE = 60.0  # s: longer pauses in a trace are cut to it; in the log of agents some last a night
FILES: Mapping[str, str] = {
    AGENT: 'agentic_turns_kv_cache_tester.jsonl', CHAT: 'mooncake_conversation_trace.jsonl',
}
"""Public traces, in the folder of ``--traces`` or a folder ``traces`` in it."""
TITLES: Mapping[str, str] = {
    TWO_PHASE: 'two-phase (synthetic)', AGENT: 'agents (trace)', CHAT: 'chats (Mooncake trace)',
    SHOWROOM: 'showroom dialogues (CarQA)',
}


class ServedError(Refusal):
    """A workload whose data is not at hand."""


def missing(workload: str, folder: Path | None) -> str:
    """Why a workload cannot be had, empty where it can."""
    if workload not in FILES:
        return ''
    if folder is None:
        return f'workload {workload!r} needs {FILES[workload]}: name its folder with --traces'
    there = _file(workload, folder).is_file()
    return '' if there else f'workload {workload!r}: there is no {FILES[workload]} in {folder}'


@lru_cache(maxsize=32)
def scripts(workload: str, folder: Path | None, *, seed: int, longest: int, append: int = 0) -> tuple[Script, ...]:
    """Conversations to draw from, none longer than ``longest`` tokens; ``append``: the mean of later turns' new tokens,
    of synthetic ones. Raises ServedError, WorkloadError.
    """
    if why := missing(workload, folder):
        raise ServedError(f'{why[0].upper()}{why[1:]}.')
    if workload == TWO_PHASE:
        shape = TwoPhase(append=append) if append else TwoPhase()
        return tuple(shape.scripts(DRAWN, seed=seed, longest=longest))
    if workload == SHOWROOM:
        from pace_ros.study.serving.dialogues import dialogues  # noqa: PLC0415  loads the data set
        return tuple(dialogues(DRAWN, seed=seed))
    path = _file(workload, folder)
    read = read_agent(path, longest=longest) if workload == AGENT else (
        script for _, script in read_mooncake(path, longest=longest).arrivals)
    return tuple(_without_pauses(read))


def _without_pauses(read: Iterable[Script]) -> Iterable[Script]:
    for script in read:
        turns = tuple(dataclasses.replace(each, think=min(each.think, PAUSE)) for each in script.turns)
        yield dataclasses.replace(script, turns=turns)


def _file(workload: str, folder: Path | None) -> Path:
    """Where a trace lies, or should."""
    folders = (folder, folder / 'traces') if folder else (Path(),)
    places = [each / FILES[workload] for each in folders]
    return next((each for each in places if each.is_file()), places[0])
