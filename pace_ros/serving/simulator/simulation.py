"""A workload through a fleet, in simulated time."""
from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import pandas as pd
import simpy

from pace_ros.serving.fleet import Fleet
from pace_ros.serving.ledger import Ledger
from pace_ros.serving.policies import make_policy
from pace_ros.serving.simulator.door import Door, states_of
from pace_ros.serving.simulator.engine import Engine
from pace_ros.serving.simulator.hardware import Hardware
from pace_ros.serving.simulator.outcome import OCCUPANCY, Outcome, replicas_of
from pace_ros.serving.simulator.row import frame_of
from pace_ros.serving.simulator.script import Workload
from pace_ros.serving.simulator.visit import Site, Visit
from pace_ros.settings import ConfigError

STALL = 0.2  # s between two tokens: a speaking robot's buffer runs dry at about that


def simulate(
    fleet: Fleet, hardware: Hardware | Mapping[str, Hardware], workload: Workload, *, seed: int = 0,
    stall: float = STALL, sample: float = 1.0,
) -> Outcome:
    """Serve every conversation of a workload to its end, under the fleet's own policy and admission.

    ``hardware`` is one for all or one by replica; ``seed`` is of the predictor's errors; ``stall``: s between two
    tokens that is too long; occupancy is sampled every ``sample`` s. The same arguments give the same outcome. Raises
    ConfigError for a replica without hardware.
    """
    env = simpy.Environment()
    made = _hardware(fleet, hardware)
    ledger, states = Ledger(fleet.replicas), states_of(fleet)
    settings = fleet.settings
    answers: dict[str, int] = {}
    token, move = _expected(workload, [made[each.name] for each in fleet.decoders])
    policy = make_policy(settings.policy, prediction_error=settings.prediction_error, seed=seed, token=token, move=move,
                         oracle=lambda turn: float(answers[turn.conversation]))
    engines = {each.name: Engine(env, made[each.name], own_caches=not (each.kv or made[each.name].prefix_cache))
               for each in fleet.replicas}
    site = Site(env, fleet, engines, states, ledger, policy, Door(env, fleet, states, ledger, policy), stall, answers)
    samples: list[tuple[Any, ...]] = []
    env.process(_observe(site, sample, samples))
    env.run(until=env.process(_arrive(site, workload)))
    duration = float(env.now)
    return Outcome(settings.policy, workload.name, duration, frame_of(site.rows),
                   replicas_of(fleet, site.engines, duration), pd.DataFrame(samples, columns=list(OCCUPANCY)))


def with_policy(fleet: Fleet, policy: str, *, prediction_error: float = 0.0) -> Fleet:
    """The same fleet under another policy."""
    settings = dataclasses.replace(fleet.settings, policy=policy, prediction_error=prediction_error)
    return dataclasses.replace(fleet, settings=settings)


def _hardware(fleet: Fleet, hardware: Hardware | Mapping[str, Hardware]) -> dict[str, Hardware]:
    if isinstance(hardware, Hardware):
        return {each.name: hardware for each in fleet.replicas}
    without = [each.name for each in fleet.replicas if each.name not in hardware]
    if without:
        raise ConfigError(f'No hardware is given for {", ".join(without)}.')
    return {each.name: hardware[each.name] for each in fleet.replicas}


def _expected(workload: Workload, decoders: Sequence[Hardware]) -> tuple[float, float]:
    """What a predictor is told of the decoders, at the mean prompt: s a token of an answer, s a hand-over. Both ends
    finish the step they are at before a cache is saved or restored, which takes half a step each in the mean.
    """
    prompts = [turn.prompt for _, script in workload.arrivals for turn in script.turns]
    mean = round(sum(prompts) / len(prompts))
    costs = [each.costs for each in decoders]
    token = sum(each.decode(1, mean) for each in costs) / len(costs)
    return token, token + sum(each.save(mean) + each.transfer(mean) + each.restore(mean) for each in costs) / len(costs)


def _arrive(site: Site, workload: Workload) -> Generator[simpy.Event, Any, None]:
    visits = []
    for at, script in workload.arrivals:
        yield site.env.timeout(max(0.0, at - site.env.now))
        visits.append(site.env.process(Visit(site, script).run()))
    for visit in visits:
        if not visit.processed:
            yield visit


def _observe(site: Site, sample: float, samples: list[tuple[Any, ...]]) -> Generator[simpy.Event, Any, None]:
    while True:
        samples.extend(
            (site.env.now, each.name, site.ledger.held(each.name) / each.capacity,
             site.ledger.reserved(each.name) / each.capacity, each.slots - site.ledger.free_slots(each.name),
             site.states[each.name].streams, site.door.waiting)
            for each in site.fleet.replicas
        )
        yield site.env.timeout(sample)
