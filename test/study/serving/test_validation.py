"""Real turns become a workload, and figures become errors."""
from __future__ import annotations

import pandas as pd
import pytest

from pace_ros.serving.simulator.costs import Costs
from pace_ros.study.serving.validation import METRICS, Visits, errors, simulated, workload_of

REAL = pd.DataFrame([
    ('visit-0', 1, 0.5, 100, 4, 1.0, 0.10, 1, 219), ('visit-0', 2, 4.0, 130, 4, 0.4, 0.12, 27, 219),
    ('visit-1', 1, 2.5, 90, 4, 1.2, 0.1, 1, 219),
], columns=['conversation', 'turn', 'arrival', 'prompt', 'answer', 'ttft', 'tbt_mean', 'new', 'fleet_read'])


def test_the_workload_has_the_tokens_and_beginnings_that_were_seen() -> None:
    workload = workload_of(REAL, Visits(think=1.5))
    assert [at for at, _ in workload.arrivals] == [0.5, 2.5]
    first, second = workload.arrivals[0][1].turns
    assert (first.prompt, first.answer, first.think) == (100, 4, 0.0)
    assert (second.prompt, second.shared, second.think) == (130, 104, 1.5)


def test_the_error_is_relative_to_what_is_real() -> None:
    found = errors(REAL, REAL.assign(ttft=REAL['ttft'] * 1.5)).set_index('metric')
    assert list(found.index) == list(METRICS)
    assert found.loc['later turns, first token P50 (s)', 'error'] == pytest.approx(0.5)
    assert found.loc['between two tokens, median of means (s)', 'error'] == pytest.approx(0.0)


def test_replicas_that_are_a_quarter_slower_read_the_same_tokens() -> None:
    """As measured once on a small model: the visits are not on the edge between finding a prefix and losing it."""
    visits = Visits()
    rows = [(f'visit-{number}', turn + 1, number * visits.every, 188 + 70 * turn, visits.answer)
            for number in range(visits.count) for turn in range(visits.turns)]
    real = pd.DataFrame(rows, columns=['conversation', 'turn', 'arrival', 'prompt', 'answer'])
    described = {'policy': 'disaggregated', 'admission': {'utilisation': 10.0, 'wait': 120.0}, 'replicas': [
        {'name': role, 'url': f'http://{role}', 'role': role, 'slots': 8, 'context': 1024}
        for role in ('prefill', 'decode')]}
    reads = []
    for slower in (1.0, 1.25):
        costs = Costs(prefill_base=0.037 * slower, prefill_token=0.0077 * slower, attend=3.8e-6 * slower,
                      decode_base=0.0006 * slower, decode_stream=0.0113 * slower, save_base=0.005 * slower)
        reads.append(simulated(described, costs, workload_of(real, visits), chunk=512)['read'].tolist())
    assert reads[0] == reads[1]
    assert sum(reads[0]) > 1.5 * 8 * (188 + 70 + 70)  # some are lost


def test_a_fleet_file_is_simulated_with_the_costs_given() -> None:
    described = {'policy': 'pinned', 'replicas': [
        {'name': 'prefill-1', 'url': 'http://one', 'role': 'prefill', 'slots': 2, 'context': 512},
        {'name': 'decode-1', 'url': 'http://two', 'role': 'decode', 'slots': 2, 'context': 512}]}
    turns = simulated(described, Costs(prefill_token=0.01), workload_of(REAL.head(1), Visits()), chunk=512)
    assert turns['new'].iloc[0] == 1
    assert turns['fleet_read'].iloc[0] == 101
    assert turns['ttft'].iloc[0] == pytest.approx(1.01)  # 100 tokens read, and one again after the hand-over
