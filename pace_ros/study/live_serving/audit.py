"""Whether a gateway's ledger is what its servers hold."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

PATIENCE = 10.0  # s
HELD, RESERVED, WELL = 'l2_gateway_replica_kv_held', 'l2_gateway_replica_kv_reserved', 'l2_gateway_replica_well'
Slots = Mapping[str, Mapping[int, int]]  # tokens by slot, by replica
Conversations = Sequence[Mapping[str, Any]]  # as GET /v1/conversations lists them
Samples = Mapping[tuple[str, str], float]  # by name and replica; the replica is empty for a figure of the gateway


def faults_of(conversations: Conversations, samples: Samples, slots: Slots, files: Sequence[str]) -> list[str]:
    """What is not exact once no turn is under way, one sentence each."""
    faults = [f'{each["id"]} has a turn under way' for each in conversations if each['under_way']]
    faults += [f'the slot file {each} is left' for each in files]
    seated = [each for each in conversations if 'replica' in each]
    taken: dict[tuple[str, int], str] = {}
    for each in seated:
        place = each['replica'], each['slot']
        if place in taken:
            faults.append(f'{taken[place]} and {each["id"]} are both in slot {place[1]} of {place[0]}')
        taken[place] = each['id']
        found = slots.get(place[0], {}).get(place[1])
        if found != each['held'] or each['reserved']:
            faults.append(f'{each["id"]}: {each["held"]} held and {each["reserved"]} reserved by the ledger, '
                          f'{found} in slot {place[1]} of {place[0]}')
    for name in slots:
        held = sum(each['held'] for each in seated if each['replica'] == name)
        told = samples.get((HELD, name)), samples.get((RESERVED, name))
        if told != (held, 0):
            faults.append(f'/metrics has {told[0]} tokens held and {told[1]} reserved on {name}, not {held} and 0')
        if samples.get((WELL, name)) != 1:
            faults.append(f'{name} answers, and is not taken for well')
    return faults


def audited(base_url: str, replicas: Mapping[str, str], slot_dir: Path) -> list[str]:
    """The faults of a gateway at ``base_url`` (with /v1) that is at rest, over ``replicas`` by name and URL."""
    with httpx.Client(timeout=PATIENCE, trust_env=False) as http:
        conversations = http.get(f'{base_url}/conversations').json()['conversations']
        samples = samples_of(http.get(f'{base_url.removesuffix("/v1")}/metrics').text)
        slots = {name: slots_of(http.get(f'{url}/slots').json()) for name, url in replicas.items()}
    return faults_of(conversations, samples, slots, sorted(each.name for each in slot_dir.iterdir()))


def samples_of(text: str) -> dict[tuple[str, str], float]:
    """The figures of Prometheus' text format."""
    return {
        (sample.name, sample.labels.get('replica', '')): sample.value
        for family in text_string_to_metric_families(text) for sample in family.samples
    }


def slots_of(listed: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Tokens by slot, as llama.cpp lists them: a slot that was never used has no figure."""
    return {int(each['id']): int(each.get('n_prompt_tokens') or 0) for each in listed}


def figures(base_url: str, *names: str) -> dict[str, float]:
    """What a gateway at ``base_url`` (with /v1) has counted, of all replicas, by the short names of its counters."""
    text = httpx.get(f'{base_url.removesuffix("/v1")}/metrics', timeout=PATIENCE, trust_env=False).text
    samples = samples_of(text)
    return {each: sum(value for (name, _), value in samples.items() if name == f'l2_gateway_{each}_total')
            for each in names}
