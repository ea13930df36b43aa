from __future__ import annotations

import pytest

from pace_ros.study.live_serving.audit import HELD, RESERVED, WELL, faults_of, samples_of, slots_of

SEATED = {'id': 'a', 'turns': 2, 'under_way': 0, 'replica': 'd', 'slot': 1, 'held': 40, 'reserved': 0}
TOLD = {(HELD, 'd'): 40.0, (RESERVED, 'd'): 0.0, (WELL, 'd'): 1.0}
SLOTS = {'d': {0: 0, 1: 40}}


def test_an_exact_ledger_has_no_fault() -> None:
    assert faults_of([SEATED], TOLD, SLOTS, []) == []
    assert faults_of([], {**TOLD, (HELD, 'd'): 0.0}, SLOTS, []) == []  # what is in a free slot is nobody's


@pytest.mark.parametrize(('conversations', 'told', 'slots', 'files', 'fault'), [
    ([{**SEATED, 'held': 41}], {**TOLD, (HELD, 'd'): 41.0}, SLOTS, [], 'a: 41 held and 0 reserved'),
    ([{**SEATED, 'reserved': 3}], TOLD, SLOTS, [], '3 reserved by the ledger'),
    ([{**SEATED, 'under_way': 1}], TOLD, SLOTS, [], 'a has a turn under way'),
    ([SEATED], TOLD, {'d': {0: 0}}, [], 'None in slot 1 of d'),
    ([SEATED], {**TOLD, (HELD, 'd'): 39.0}, SLOTS, [], '39.0 tokens held'),
    ([SEATED], {**TOLD, (RESERVED, 'd'): 5.0}, SLOTS, [], '5.0 reserved on d'),
    ([SEATED], {**TOLD, (WELL, 'd'): 0.0}, SLOTS, [], 'not taken for well'),
    ([SEATED], TOLD, SLOTS, ['kv-1'], 'kv-1 is left'),
    ([SEATED, {**SEATED, 'id': 'b'}], {**TOLD, (HELD, 'd'): 80.0}, SLOTS, [], 'a and b are both in slot 1'),
])
def test_each_fault_is_named(
    conversations: list[dict[str, object]], told: dict[tuple[str, str], float], slots: dict[str, dict[int, int]],
    files: list[str], fault: str,
) -> None:
    [found] = faults_of(conversations, told, slots, files)
    assert fault in found


def test_what_servers_and_gateways_say_is_read() -> None:
    assert slots_of([{'id': 0, 'n_ctx': 64}, {'id': 1, 'n_prompt_tokens': 47}]) == {0: 0, 1: 47}
    text = 'l2_gateway_turns_total 3.0\nl2_gateway_replica_kv_held{replica="d"} 47.0\n'
    assert samples_of(text) == {('l2_gateway_turns_total', ''): 3.0, (HELD, 'd'): 47.0}
