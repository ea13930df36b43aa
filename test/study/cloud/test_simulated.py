from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import numpy as np
import pytest
from scipy import stats
from study_clouds import DATA, EXACT, PRICE, RANGE, RANGE_EN, Heard, Robot, cloud_of, in_virtual_time

from pace_ros.language import count_tokens
from pace_ros.llm.errors import L2Refused, L2Timeout, L2Unreachable
from pace_ros.study.cloud import Answers, CloudSettings, SimulatedCloud
from pace_ros.study.datasets.world import World


def asked(settings: CloudSettings, *times: float, seed: int = 0, **l2: object) -> list[Heard]:
    """The same question at some instants (s)."""
    async def main() -> list[Heard]:
        robot = Robot(cloud_of(settings, seed=seed), **l2)
        return list(await asyncio.gather(*(robot.ask(PRICE.text, at=time) for time in times)))

    return in_virtual_time(main)


@pytest.mark.parametrize('deltas', [1, 2, 5, 1000])
def test_an_answer_comes_whole_with_its_usage(deltas: int) -> None:
    heard, = asked(EXACT.changed(deltas=deltas), 0.0)
    assert heard.error is None
    assert '云雀的官方指导价是199800元。' in heard.text
    assert 1 <= len(heard.pieces) <= deltas
    assert heard.report.finish_reason == 'stop'
    assert heard.report.tokens_out >= len(heard.text) // 2
    assert heard.report.tokens_in == 4 + 4 + 6  # two messages, 云雀多少钱？


def test_the_first_token_and_the_end_come_when_they_are_due() -> None:
    heard, = asked(EXACT.changed(gap_mean=0.1, gap_shape=1e6), 5.0)
    assert heard.report.ttft == pytest.approx(1.0, abs=1e-6)
    first = heard.report.tokens_out - (heard.ended - 6.0) / 0.1  # tokens of the first delta
    assert first == pytest.approx(round(first), abs=0.05)
    assert 1 <= round(first) <= 3


def test_requests_in_flight_slow_a_new_one_down() -> None:
    heard = asked(EXACT.changed(knee=2.0, power=1.0), 0.0, 0.1, 0.2, 10.0)
    assert [each.report.ttft for each in heard] == pytest.approx([1.0, 1.5, 2.0, 1.0])


def test_beyond_the_slots_the_first_come_is_the_first_served() -> None:
    heard = asked(EXACT.changed(slots=2), 0.0, 0.1, 0.2, 0.3, 0.4)
    assert [each.ended for each in heard] == pytest.approx([1.0, 1.1, 2.0, 2.1, 3.0])


def test_whoever_leaves_frees_its_slot_at_once_while_speaking_and_while_queueing() -> None:
    async def main() -> tuple[Heard, int]:
        cloud = cloud_of(EXACT.changed(slots=1, first_token_median=50.0))
        robot = Robot(cloud)
        first = asyncio.create_task(robot.ask(PRICE.text))
        second = asyncio.create_task(robot.ask(PRICE.text, at=1.0))
        third = asyncio.create_task(robot.ask(PRICE.text, at=2.0))
        await asyncio.sleep(3.0)
        assert cloud.in_flight == 3
        second.cancel()
        await asyncio.wait([second])
        assert cloud.in_flight == 2
        await asyncio.sleep(1.0)
        first.cancel()  # at 4 s
        return await third, cloud.in_flight

    heard, left = in_virtual_time(main)
    assert heard.ended == pytest.approx(54.0)
    assert left == 0


def test_a_client_that_gives_up_frees_its_slot() -> None:
    heard = asked(EXACT.changed(slots=1, first_token_median=3.0), 0.0, 0.5, 1.0, first_token_timeout=3.2)
    assert [type(each.error) for each in heard] == [type(None), L2Timeout, L2Timeout]
    assert heard[0].ended == pytest.approx(3.0)


def test_a_response_nobody_reads_frees_its_slot_when_closed() -> None:
    async def main() -> int:
        cloud = cloud_of()
        async with httpx.AsyncClient(transport=cloud.transport) as client:
            body = {'messages': [{'role': 'user', 'content': PRICE.text}], 'stream': True}
            async with client.stream('POST', 'http://cloud/v1/chat/completions', json=body):
                assert cloud.in_flight == 1
        return cloud.in_flight

    assert in_virtual_time(main) == 0


def test_an_outage_refuses_and_breaks_what_is_open() -> None:
    heard = asked(EXACT.changed(outages=('10-20',)), 0.0, 9.5, 15.0, 20.0)
    assert [type(each.error) for each in heard] == [type(None), L2Unreachable, L2Unreachable, type(None)]
    assert heard[1].ended == pytest.approx(10.0)
    assert heard[2].ended == pytest.approx(15.0)


def test_an_unavailable_service_says_so_and_finishes_what_it_began() -> None:
    heard = asked(EXACT.changed(outages=('10-20',), outage_kind='unavailable'), 0.0, 9.5, 15.0)
    assert [getattr(each.error, 'status', None) for each in heard] == [None, None, 503]
    assert heard[2].ended == pytest.approx(15.05)


def test_beyond_the_rate_it_says_when_to_come_again() -> None:
    heard = asked(EXACT.changed(rate_limit=0.5, burst=2), 0.0, 0.1, 0.2, 2.1)
    refused = heard[2].error
    assert isinstance(refused, L2Refused)
    assert (refused.status, refused.retry_after) == (429, 2.0)  # 1.8 s in whole seconds
    assert [each.error for each in heard if each is not heard[2]] == [None, None, None]


def test_the_client_comes_again_when_it_was_told_to() -> None:
    heard = asked(EXACT.changed(rate_limit=0.5, burst=1), 0.0, 0.1, retries=1)
    assert heard[1].error is None
    assert heard[1].ended == pytest.approx(0.1 + 0.05 + 2.0 + 1.0)


def test_faults_are_seen_as_what_they_are() -> None:
    error, = asked(EXACT.changed(error_share=1.0), 0.0)
    assert isinstance(error.error, L2Refused)
    assert error.error.status == 500
    drop, = asked(EXACT.changed(drop_share=1.0), 0.0)
    assert isinstance(drop.error, L2Unreachable)
    assert drop.pieces
    stall, = asked(EXACT.changed(stall_share=1.0), 0.0, inter_token_timeout=4.0)
    assert isinstance(stall.error, L2Timeout)
    assert stall.pieces
    assert stall.ended == pytest.approx(5.0)


def test_faults_strike_their_share() -> None:
    settings = EXACT.changed(error_share=0.1, drop_share=0.2, stall_share=0.1)
    heard = asked(settings, *np.arange(300) * 30.0)
    kinds = [type(each.error) for each in heard]
    for kind, share in ((L2Refused, 0.1), (L2Unreachable, 0.2), (L2Timeout, 0.1)):
        assert stats.binomtest(kinds.count(kind), 300, share).pvalue > 0.001


def test_first_tokens_are_lognormal_and_gaps_gamma() -> None:
    settings = EXACT.changed(first_token_median=1.3, first_token_sigma=0.4, gap_mean=0.05, gap_shape=2.0, deltas=2)
    heard = asked(settings, *np.arange(300) * 60.0)
    ttfts = [each.report.ttft for each in heard]
    assert stats.kstest(ttfts, stats.lognorm(0.4, scale=1.3).cdf).pvalue > 0.001
    spoken = sum(each.ended - each.sent - each.report.ttft for each in heard)
    gaps = sum(each.report.tokens_out - count_tokens(each.pieces[0]) for each in heard)
    assert spoken / gaps == pytest.approx(0.05, rel=0.05)  # some 5,000 gaps of cv 0.7: 1 % standard error


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    settings = CloudSettings(drop_share=0.2)
    one, again, other = (asked(settings, *np.arange(20) * 1.5, seed=seed) for seed in (1, 1, 2))
    assert [(each.text, each.ended) for each in one] == [(each.text, each.ended) for each in again]
    assert [each.ended for each in one] != [each.ended for each in other]


def test_draws_are_paired_between_arms_whatever_else_is_asked() -> None:
    async def arm(questions: list[str]) -> dict[str, list[float]]:
        robot = Robot(cloud_of(CloudSettings(), seed=3))
        times: dict[str, list[float]] = {}
        for question in questions:
            times.setdefault(question, []).append((await robot.ask(question)).report.ttft)
        return times

    one = in_virtual_time(lambda: arm([PRICE.text, RANGE.text, PRICE.text]))
    other = in_virtual_time(lambda: arm([RANGE_EN.text, PRICE.text, PRICE.text, RANGE.text]))
    assert one[PRICE.text] == pytest.approx(other[PRICE.text])
    assert one[RANGE.text] == pytest.approx(other[RANGE.text])
    assert one[PRICE.text][0] != one[PRICE.text][1]


def test_an_announced_question_has_its_draw_though_earlier_ones_were_answered_elsewhere() -> None:
    async def arm(*, cached: bool) -> float:
        cloud = cloud_of(CloudSettings(), seed=3)
        robot = Robot(cloud)
        cloud.announce(PRICE.text)
        if not cached:
            await robot.ask(PRICE.text)
        cloud.announce(PRICE.text)
        return (await robot.ask(PRICE.text)).report.ttft

    assert in_virtual_time(lambda: arm(cached=True)) == pytest.approx(in_virtual_time(lambda: arm(cached=False)))


def test_what_the_cloud_computes_is_free() -> None:
    depth, computed = 0, []

    @contextmanager
    def free() -> Iterator[None]:
        nonlocal depth
        depth += 1
        yield
        depth -= 1

    class Speaker(Answers):
        def reply(self, *given: object, **named: object) -> str:
            computed.append(depth)
            return super().reply(*given, **named)  # type: ignore[arg-type]

    async def main() -> None:
        cloud = SimulatedCloud(Speaker(DATA, World(DATA)), EXACT, free=free)
        await Robot(cloud).ask(PRICE.text)

    in_virtual_time(main)
    assert (computed, depth) == ([1], 0)


def test_it_answers_whole_lists_its_model_and_is_well() -> None:
    async def main() -> tuple[dict[str, object], float, list[httpx.Response]]:
        async with httpx.AsyncClient(transport=cloud_of().transport, base_url='http://cloud/v1') as client:
            body = {'messages': [{'role': 'user', 'content': RANGE_EN.text}]}
            whole = await client.post('/chat/completions', json=body)
            others = [await client.get('/models'), await client.get('http://cloud/health'), await client.get('/else'),
                      await client.post('/chat/completions', content=b'{'),
                      await client.post('/chat/completions', json={'messages': []}),
                      await client.post('/chat/completions', json={'messages': [{'role': 'user', 'content': [1]}]})]
            return whole.json(), asyncio.get_running_loop().time(), others

    answer, _, others = in_virtual_time(main)
    choice = answer['choices'][0]  # type: ignore[index]
    assert choice['finish_reason'] == 'stop'
    assert 'km' in choice['message']['content']
    assert [each.status_code for each in others] == [200, 200, 404, 400, 400, 400]
    assert others[0].json()['data'][0]['id'] == 'simulated'
    assert "'messages'" in json.loads(others[4].content)['error']['message']


def test_an_answer_ends_at_the_limit_of_tokens() -> None:
    heard, = asked(EXACT, 0.0, max_tokens=4)
    assert heard.report.finish_reason == 'length'
    assert 0 < heard.report.tokens_out <= 4
