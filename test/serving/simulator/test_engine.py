"""A replica at work, second by second."""
from __future__ import annotations

import itertools

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.serving.simulator.costs import Costs
from pace_ros.serving.simulator.engine import Engine, Steps
from pace_ros.serving.simulator.hardware import WHOLE, Hardware, Power
from pace_ros.serving.simulator.job import Job

COSTS = Costs(prefill_base=0.5, prefill_token=0.01, decode_base=0.1, decode_stream=0.01, decode_token=0.001)


class Bench:
    """An engine, and jobs that come at given times."""

    def __init__(self, costs: Costs = COSTS, chunk: int = WHOLE, *, own_caches: bool = False) -> None:
        self.env = simpy.Environment()
        self.engine = Engine(self.env, Hardware(costs, Power(10.0, 100.0, 50.0), chunk), own_caches=own_caches)

    def job(
        self, at: float, prompt: int, answer: int, *, hidden: int = 0, stall: float = 1e9, slot: int = 0
    ) -> Job:
        job = Job(prompt, 0, answer, self.env.event(), self.env.event(), hidden, stall, slot)

        def come() -> Steps:
            yield self.env.timeout(at)
            self.engine.read(job)

        self.env.process(come())
        return job


def step(streams: int, context: int) -> float:
    return 0.1 + 0.01 * streams + 0.001 * context


def test_one_alone() -> None:
    bench = Bench()
    job = bench.job(0.0, 100, 4)
    bench.env.run()
    assert job.first == job.visible == pytest.approx(0.5 + 1.0)
    assert job.last == pytest.approx(1.5 + step(1, 101) + step(1, 102) + step(1, 103))
    assert job.longest == pytest.approx(step(1, 103))
    assert job.gaps == pytest.approx(job.last - job.first)


def test_a_prompt_holds_up_a_stream_for_all_its_length() -> None:
    bench = Bench()
    stream = bench.job(0.0, 100, 4, stall=1.0)
    second = bench.job(1.6, 200, 1)  # within the first step of the stream, which ends at 1.5 + 0.211
    bench.env.run()
    ends = 1.5 + step(1, 101) + 0.5 + 2.0 + 0.01 + 0.001 * 102  # one base, the larger one
    assert second.first == second.last == pytest.approx(ends)
    assert stream.longest == pytest.approx(ends - (1.5 + step(1, 101)))
    assert stream.stalls == 1
    assert stream.last == pytest.approx(ends + step(1, 103))


def test_in_small_pieces_it_holds_up_less() -> None:
    bench = Bench(chunk=100)
    stream = bench.job(0.0, 100, 5)
    second = bench.job(1.6, 200, 1)
    bench.env.run()
    first = 0.5 + 1.0 + 0.01 + 0.001 * 102
    assert stream.longest == pytest.approx(first + 0.001)
    assert second.first == pytest.approx(1.5 + step(1, 101) + first + first + 0.001)


def test_prompts_share_a_step_as_far_as_there_is_room() -> None:
    bench = Bench(chunk=150)
    one, other = bench.job(0.0, 100, 1), bench.job(0.0, 100, 1)
    bench.env.run()
    assert one.first == pytest.approx(0.5 + 1.5)  # with half of the other
    assert other.first == pytest.approx(2.0 + 0.5 + 0.5)


def test_what_is_hidden_is_not_visible() -> None:
    bench = Bench()
    job, none = bench.job(0.0, 100, 4, hidden=2), bench.job(50.0, 100, 4, hidden=4)
    bench.env.run()
    assert job.visible == pytest.approx(1.5 + step(1, 101) + step(1, 102))
    assert none.visible != none.visible


def test_a_move_goes_first_and_holds_up_everything() -> None:
    bench = Bench()
    stream = bench.job(0.0, 100, 2)
    other = Job(1, 0, 1, bench.env.event(), bench.env.event())

    def save() -> Steps:
        yield bench.env.timeout(1.0)
        yield bench.engine.move(3.0, other)
        assert bench.env.now == pytest.approx(1.5 + 3.0)

    bench.env.process(save())
    bench.env.run()
    assert stream.longest == pytest.approx(3.0 + step(1, 101))
    assert other.energy == pytest.approx(3.0 * 50.0)


def test_energy_by_state_and_by_turn() -> None:
    bench = Bench()
    job = bench.job(0.0, 100, 3)
    bench.env.run()
    decoding = step(1, 101) + step(1, 102)
    assert job.energy == pytest.approx(1.5 * 100.0 + decoding * 50.0)
    assert bench.engine.meter.energy(10.0) == pytest.approx(job.energy + (10.0 - 1.5 - decoding) * 10.0)
    assert (bench.engine.meter.read, bench.engine.meter.answered) == (100, 3)


def test_an_interruption_changes_nothing_but_its_own() -> None:
    """A move of no length breaks a run of steps in two, at the end of the step under way."""
    plain, broken = Bench(), Bench()
    jobs = [each.job(0.0, 100, 40) for each in (plain, broken)]

    def disturb() -> Steps:
        other = Job(1, 0, 1, broken.env.event(), broken.env.event())
        for _ in range(30):
            yield broken.env.timeout(0.37)
            yield broken.engine.move(0.0, other)

    broken.env.process(disturb())
    plain.env.run()
    broken.env.run()
    for name in ('first', 'last', 'gaps', 'longest', 'energy'):
        assert getattr(jobs[0], name) == pytest.approx(getattr(jobs[1], name))


@pytest.mark.parametrize(('slots', 'passes'), [((0,), 1), ((0, 1), 1), ((1, 0), 1), ((0, 2), 2), ((0, 2, 4, 6), 4),
                                               ((0, 1, 4, 5), 2)])
def test_slots_with_their_own_caches_step_together_as_far_as_they_are_consecutive(
    slots: tuple[int, ...], passes: int
) -> None:
    """Measured of llama.cpp: two streams in slots 0 and 1 take 28 ms a step, in 0 and 2 42 ms, twice what one takes."""
    longest = {}
    for own_caches in (True, False):
        bench = Bench(own_caches=own_caches)
        jobs = [bench.job(0.0, 100, 2, slot=slot) for slot in slots]
        bench.env.run()
        longest[own_caches] = jobs[0].longest
    many = len(slots)
    assert longest[False] == pytest.approx(step(many, 101 * many))
    assert longest[True] == pytest.approx(step(many, 101 * many) + 0.1 * (passes - 1))


def test_with_its_own_cache_a_slot_is_read_into_alone() -> None:
    bench = Bench(own_caches=True)
    stream = bench.job(0.0, 100, 3, slot=0)
    others = [bench.job(1.6, 100, 1, slot=slot) for slot in (1, 2)]
    bench.env.run()
    ends = 1.5 + step(1, 101) + 2 * (0.5 + 1.0) + step(1, 102)
    assert [each.first for each in others] == pytest.approx([ends, ends])
    assert stream.last == pytest.approx(ends)


def step_by_step(
    jobs: list[tuple[float, int, int]], costs: Costs, chunk: int, *, own_caches: bool
) -> list[list[float]]:
    """The times of all tokens of each job, reckoned plainly: one step after the other, whatever it does. The job of
    that index is in the slot of that number.
    """
    left = [prompt for _, prompt, _ in jobs]
    tokens: list[list[float]] = [[] for _ in jobs]
    now = 0.0
    while any(len(tokens[at]) < answer for at, (_, _, answer) in enumerate(jobs)):
        here = [at for at, (come, _, answer) in enumerate(jobs) if come <= now and len(tokens[at]) < answer]
        if not here:
            now = min(come for at, (come, _, _) in enumerate(jobs) if come > now and not tokens[at])
            continue
        streams = [at for at in here if not left[at]]
        room, reading, base = chunk, 0.0, costs.decode_base if streams else 0.0
        if own_caches:
            base *= sum(at - 1 not in streams for at in streams)
        answering = sum(costs.decode_stream + costs.decode_token * (jobs[at][1] + len(tokens[at])) for at in streams)
        given = [*streams]
        for at in here:
            part = min(room, left[at])
            if part:
                done = jobs[at][1] - left[at]
                reading += costs.prefill_token * part + costs.attend * (part * done + part * part / 2)
                base = base + costs.prefill_base if own_caches else max(base, costs.prefill_base)
                left[at], room = left[at] - part, room - part
                given += [at] if not left[at] else []
        now += base + reading + answering
        for at in given:
            tokens[at].append(now)
    return tokens


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.0, 5.0), st.integers(1, 200), st.integers(1, 40)), min_size=1, max_size=6),
    st.sampled_from([1, 16, 100, WHOLE]), st.sampled_from([0.0, 1e-4]), st.booleans(),
)
def test_it_is_what_one_step_after_the_other_gives(
    drawn: list[tuple[float, int, int]], chunk: int, growth: float, own_caches: bool
) -> None:
    costs = Costs(prefill_base=0.013, prefill_token=0.0017, attend=1e-5, decode_base=0.021, decode_stream=0.0031,
                  decode_token=growth)
    arriving = sorted(drawn)
    bench = Bench(costs, chunk, own_caches=own_caches)
    stall = 0.1000012  # s: no sum of these costs, so that no gap is just that, but for rounding
    jobs = [bench.job(*each, stall=stall, slot=slot) for slot, each in enumerate(arriving)]
    bench.env.run()
    for job, times in zip(jobs, step_by_step(arriving, costs, chunk, own_caches=own_caches), strict=True):
        gaps = [later - sooner for sooner, later in itertools.pairwise(times)]
        assert (job.first, job.last, job.gaps) == pytest.approx((times[0], times[-1], sum(gaps)), abs=1e-6)
        assert job.longest == pytest.approx(max(gaps, default=0.0), abs=1e-6)
        assert job.stalls == sum(gap > stall for gap in gaps)
