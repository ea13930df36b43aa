"""The simulated fleets: replicas and the hardware under them."""
from __future__ import annotations

import dataclasses
from pathlib import Path

from pace_ros.serving.fleet import Fleet
from pace_ros.serving.simulator.costs import Costs, read_costs, roofline
from pace_ros.serving.simulator.fleets import simulated_fleet
from pace_ros.serving.simulator.hardware import Hardware, Power, limited
from pace_ros.serving.simulator.simulation import with_policy
from pace_ros.study.serving.arms import ARMS
from pace_ros.study.serving.cell import HETEROGENEOUS, Cell
from pace_ros.study.serving.plan import Plan

POWER = Power(idle=60.0, prefill=300.0, decode=300.0)  # W, assumed of each replica
PREFILLER, DECODER = 300.0, 200.0  # W: the limits of the heterogeneous fleet
CHUNK = 2048  # prompt tokens that a step reads at most, unless the arm says otherwise
UNMETERED = {'utilisation': 10.0}  # the gateway's meter cannot know what a prefix cache spares
WAIT = 120.0  # s that a turn may wait for room: long, so that saturation shows as waiting before it shows as refusal


def costs_of(plan: Plan) -> Costs:
    """Measured costs from a file of `study serving calibrate`, or those that a data sheet lets one expect.

    Raises ConfigError.
    """
    return read_costs(Path(plan.costs)) if plan.costs else roofline()


def read_rate(costs: Costs, tokens: int) -> float:
    """Prompt tokens/s of a lone prompt of that length."""
    return tokens / max(costs.prefill(tokens), 1e-9)


def fleet_of(plan: Plan, cell: Cell, typical: int) -> Fleet:
    """The gateway's own configuration under the arm's policy; ``typical``: tokens of a first prompt."""
    fleet = simulated_fleet(
        prefillers=plan.prefillers, decoders=plan.decoders, slots=plan.slots, context=plan.context,
        rate=read_rate(costs_of(plan), typical), idle=1e6,
        admission={'wait': WAIT, 'waiting': 10_000, **(UNMETERED if ARMS[cell.arm].prefix_cache else {})},
    )
    replicas = tuple(dataclasses.replace(each, kv=plan.kv) for each in fleet.replicas)
    fleet = dataclasses.replace(fleet, replicas=replicas)
    return with_policy(fleet, ARMS[cell.arm].policy, prediction_error=cell.error)


def hardware_of(plan: Plan, cell: Cell, fleet: Fleet) -> dict[str, Hardware]:
    """By replica."""
    arm = ARMS[cell.arm]
    whole = Hardware(costs_of(plan), POWER, arm.chunk or CHUNK, prefix_cache=arm.prefix_cache)
    if cell.fleet != HETEROGENEOUS:
        return {each.name: whole for each in fleet.replicas}
    return {each.name: limited(whole, PREFILLER if each.role == 'prefill' else DECODER) for each in fleet.replicas}
