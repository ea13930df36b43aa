from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import anyio
import httpx
import pandas as pd
import pytest
from support import STALL, Script, answer, scripted_cloud

from pace_ros.clock import SystemClock
from pace_ros.llm import BreakerOpen, ChatClient, Endpoint
from pace_ros.packaged import config_dir
from pace_ros.study.judging.blinding import Blinded, answer_id, blinded
from pace_ros.study.judging.error import JudgingError
from pace_ros.study.judging.llm_judge import LlmJudge, LlmVerdict, judge_settings
from pace_ros.study.judging.rubric import Rubric, parse_score
from pace_ros.study.judging.tool import add_arguments, judge_endpoint, run
from pace_ros.study.judging.verdict_file import NAME, VerdictFile, read_verdicts
from pace_ros.study.refusal import refusing

ITEM = Blinded('a1', 'en-US', 'How much is the Lark?', '99,800 yuan.', 'It is 99,800 yuan.')
RUBRIC = Rubric.read(config_dir() / 'judging')
ARMS = ('pure-llm', 'standard-rag', 'pace-static', 'pace-full', 'a4')


async def verdict_of(*scripts: Script | bytes, deadline: float = 8.0) -> tuple[LlmVerdict, list[dict[str, object]]]:
    async with scripted_cloud(*scripts) as cloud:
        settings = judge_settings(deadline)
        client = ChatClient(Endpoint(cloud.base_url, 'judge'), lambda: settings, SystemClock())
        try:
            return await LlmJudge(client, RUBRIC, SystemClock(), deadline=deadline).verdict(ITEM), cloud.requests
        finally:
            await client.aclose()


@pytest.mark.parametrize(('reply', 'score'), [
    ('4', 4), (' 5\n', 5), ('3.', 3), ('2 - a wrong price', 2), ('1, off the point', 1), ('5。完全正确', 5),
    ('4-', None), ('', None), ('6', None), ('0', None), ('45', None), ('4.5', None), ('4/5', None),
    ('I would say 4', None), ('**4**', None), ('4-5', None), ('Grade: 4', None), ('四', None),
])
def test_only_a_number_first_is_a_score(reply: str, score: int | None) -> None:
    assert parse_score(reply) == score


@pytest.mark.anyio
async def test_a_score_with_its_cost() -> None:
    verdict, requests = await verdict_of(answer('4'))
    assert (verdict.answer_id, verdict.score, verdict.reply, verdict.error) == ('a1', 4, '4', '')
    assert (verdict.tokens_in, verdict.tokens_out) == (11, 1)  # as the scripted usage says
    assert requests[0]['temperature'] == 0.0


@pytest.mark.anyio
async def test_a_bad_reply_is_asked_for_once_more() -> None:
    verdict, requests = await verdict_of(answer('Well, 4'), answer('4'))
    assert (verdict.score, verdict.tokens_in) == (4, 22)
    assert [each['role'] for each in requests[1]['messages']] == ['system', 'user', 'assistant', 'user']  # type: ignore[index, attr-defined]


@pytest.mark.anyio
async def test_two_bad_replies_are_no_verdict() -> None:
    verdict, requests = await verdict_of(answer('Well'), answer('Who knows'), answer('4'))
    assert (verdict.score, verdict.error, verdict.reply, len(requests)) == (None, 'no score', 'Who knows', 2)


@pytest.mark.anyio
async def test_a_silent_endpoint_is_no_verdict() -> None:
    verdict, _ = await verdict_of(Script([STALL]), deadline=0.1)
    assert verdict.score is None
    assert 'in time' in verdict.error or 'within' in verdict.error


@pytest.mark.anyio
async def test_a_refusal_is_no_verdict() -> None:
    verdict, _ = await verdict_of(Script([b'{}'], status=401))
    assert verdict.score is None
    assert 'HTTP 401' in verdict.error


@pytest.mark.anyio
async def test_never_more_at_a_time_and_every_answer_once() -> None:
    busy, most = 0, 0

    class Counting(LlmJudge):
        async def verdict(self, item: Blinded) -> LlmVerdict:
            nonlocal busy, most
            busy += 1
            most = max(most, busy)
            await anyio.lowlevel.checkpoint()
            busy -= 1
            return LlmVerdict(item.answer_id, 3)

    client = ChatClient(Endpoint('http://127.0.0.1:1/v1', 'judge'), lambda: judge_settings(1.0), SystemClock())
    kept: list[LlmVerdict] = []
    items = [ITEM._replace(answer_id=str(place)) for place in range(20)]
    assert await Counting(client, RUBRIC, SystemClock()).judge(items, kept.append, 3) == ''
    await client.aclose()
    assert (most, sorted(int(each.answer_id) for each in kept)) == (3, list(range(20)))


@pytest.mark.anyio
async def test_an_endpoint_that_fails_again_and_again_is_left() -> None:
    class Failing(LlmJudge):
        async def verdict(self, item: Blinded) -> LlmVerdict:
            if item.answer_id == '2':
                raise BreakerOpen('it failed 3 times')
            return LlmVerdict(item.answer_id, 3)

    client = ChatClient(Endpoint('http://127.0.0.1:1/v1', 'judge'), lambda: judge_settings(1.0), SystemClock())
    kept: list[LlmVerdict] = []
    items = [ITEM._replace(answer_id=str(place)) for place in range(9)]
    assert await Failing(client, RUBRIC, SystemClock()).judge(items, kept.append, 1) == 'it failed 3 times'
    await client.aclose()
    assert [each.answer_id for each in kept] == ['0', '1']


def rows(requests: int = 6) -> pd.DataFrame:
    """Five arms, each with its own words for the same request; the first one's are the second one's."""
    return pd.DataFrame([
        {
            'part': 'campaign', 'dataset': 'carqa', 'arm': arm, 'concurrency': 4.0, 'seed': 1, 'index': index,
            'phase': 'measured',
            'locale': 'en-US', 'text': f'Question {index}?', 'reference': f'It is {index}.', 'path': 'L2',
            'answer': f'Answer {max(place, 1)} to {index}.', 'quality': 4,
        }
        for index in range(requests) for place, arm in enumerate(ARMS)
    ])


def test_the_sample_is_of_whole_requests_in_a_random_order_that_its_seed_repeats() -> None:
    items = blinded(rows(40), 10, seed=1)
    assert len(items) == 10 * 4  # two arms said the same
    assert len({each.question for each in items}) == 10
    assert items == blinded(rows(40), 10, seed=1)
    assert items != blinded(rows(40), 10, seed=2)
    orders = {tuple(each.answer.split()[1] for each in items[place:place + 4]) for place in range(0, 40, 4)}
    assert len(orders) > 3


def test_warm_up_and_unanswered_rows_are_not_judged() -> None:
    some = rows(2)
    some.loc[some['index'] == 0, 'phase'] = 'warm-up'
    some.loc[some['arm'] == 'a4', 'answer'] = ''
    assert len(blinded(some, 0, seed=1)) == 3


def test_a_missing_column_is_named() -> None:
    with pytest.raises(JudgingError, match="'reference'"):
        blinded(rows().drop(columns='reference'), 0, seed=1)


def test_each_language_has_its_rubric_and_the_answer_stands_last() -> None:
    zh = RUBRIC.messages(ITEM._replace(locale='zh-CN', question='多少钱？'))
    assert '分数' in zh[0]['content']
    assert zh[1]['content'] == '问题：多少钱？\n参考答案：99,800 yuan.\n回答：It is 99,800 yuan.\n分数：'
    assert RUBRIC.messages(ITEM._replace(locale='de-DE'))[0]['content'].startswith('You grade')


def test_a_missing_rubric_is_named(tmp_path: Path) -> None:
    with pytest.raises(JudgingError, match=r'rubric\.zh\.md'):
        Rubric.read(tmp_path)


def test_the_file_skips_a_torn_line_and_goes_on_after_it(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with VerdictFile(path) as file:
        file.add(LlmVerdict('a', 4))
    with path.open('a', encoding='utf-8') as torn:
        torn.write('{"answer_id": "b", "sc')
    assert read_verdicts(path) == {'a': LlmVerdict('a', 4)}
    with VerdictFile(path) as file:
        file.add(LlmVerdict('a', 5))
    assert read_verdicts(path) == {'a': LlmVerdict('a', 5)}
    path.write_text('nothing\n{}\n', encoding='utf-8')
    with pytest.raises(JudgingError, match='line 1'):
        read_verdicts(path)


def test_the_key_is_the_judges_own() -> None:
    environment = {'PACE_L2_API_KEY': 'of-the-robot', 'PACE_JUDGE_API_KEY': 'of-the-judge'}
    assert judge_endpoint('https://judge.example/v1', 'm', environment).api_key == 'of-the-judge'
    assert judge_endpoint('https://judge.example/v1', 'm', {'PACE_L2_API_KEY': 'x'}).api_key == ''


class Model:
    """Scores every answer 4, and keeps what it was sent."""

    def __init__(self, reply: Callable[[int], bytes] = lambda _: answer('4')) -> None:
        self.sent: list[str] = []
        self._reply = reply

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request.content.decode())
        body = self._reply(len(self.sent))
        return httpx.Response(200, headers={'content-type': 'text/event-stream'}, content=body)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ('PACE_JUDGE_BASE_URL', 'PACE_JUDGE_MODEL', 'PACE_JUDGE_API_KEY'):
        monkeypatch.delenv(name, raising=False)
    rows().to_parquet(tmp_path / 'requests.parquet')
    return tmp_path


def command(*arguments: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args([str(each) for each in arguments])


URL = ('--base-url', 'http://127.0.0.1:9/v1')


def test_the_judge_sees_question_reference_and_answer_and_nothing_else(folder: Path) -> None:
    model = Model()
    assert run(command(folder, *URL), httpx.MockTransport(model)) == 0
    assert len(model.sent) == 6 * 4
    for sent in model.sent:
        assert not [word for word in (*ARMS, 'campaign', 'measured', 'L2', 'concurrency', 'index') if word in sent]
        asked = json.loads(sent)['messages'][-1]['content'].split('\n')
        assert [line.split(':')[0] for line in asked] == ['Question', 'Reference', 'Answer', 'Grade']


def test_it_goes_on_where_it_stopped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command(folder, *URL, '--sample', 2), httpx.MockTransport(Model())) == 0
    assert len(read_verdicts(folder / NAME)) == 8
    model = Model()
    assert run(command(folder, *URL, '--price-in', 1.0, '--price-out', 2.0), httpx.MockTransport(model)) == 0
    assert len(model.sent) == 24 - 8
    assert '8 of them judged before' in capsys.readouterr().out
    again = Model()
    assert run(command(folder, *URL), httpx.MockTransport(again)) == 0
    assert again.sent == []


def test_what_had_no_verdict_is_asked_again(folder: Path) -> None:
    unsure = Model(lambda count: answer('no idea') if count <= 2 else answer('4'))
    assert run(command(folder, *URL, '--concurrency', 1), httpx.MockTransport(unsure)) == 0
    assert sum(each.score is None for each in read_verdicts(folder / NAME).values()) == 1
    model = Model()
    assert run(command(folder, *URL), httpx.MockTransport(model)) == 0
    assert len(model.sent) == 1
    assert all(each.score == 4 for each in read_verdicts(folder / NAME).values())


def test_bad_input_is_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(options: argparse.Namespace) -> bool:
        return refusing('study judge', lambda: run(options)) == 2

    assert refused(command(folder))
    assert 'PACE_JUDGE_BASE_URL' in capsys.readouterr().err
    assert refused(command(folder / 'none', *URL))
    assert 'requests.parquet' in capsys.readouterr().err
    assert refused(command(folder, '--base-url', 'judge'))
    assert "The judge's base URL" in capsys.readouterr().err


def test_agreement_with_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command(folder, *URL), httpx.MockTransport(Model())) == 0
    scored = rows()
    scored['answer_id'] = [answer_id(*each) for each in scored[['text', 'reference', 'answer']].itertuples(index=False)]
    scored = scored.drop_duplicates('answer_id').assign(score=[4, 5] * 12)
    scored[['answer_id', 'score']].to_csv(folder / 'human.csv', index=False)
    assert run(command(folder, '--human', folder / 'human.csv')) == 0
    out = capsys.readouterr().out
    assert 'reference judge against people, 24 answers' in out
    assert 'language model against people, 24 answers' in out
