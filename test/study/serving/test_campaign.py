"""A small study from the command line to its page: run, resumed, refused, reported."""
from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import pandas as pd
import pytest

from pace_ros.packaged import config_dir
from pace_ros.study.results.published import published
from pace_ros.study.serving import methods, report
from pace_ros.study.serving.campaign import Campaign, merge
from pace_ros.study.serving.cell import APPEND, HETEROGENEOUS, HOMOGENEOUS, POWER, PREDICTION, RATES, Cell
from pace_ros.study.serving.cell_run import CELLS, ran_cell, run_cell
from pace_ros.study.serving.plan import Plan, ServingPlanError
from pace_ros.study.serving.rows import ServingResultsError, chosen, read
from pace_ros.study.serving.run_command import plan_of
from pace_ros.study.serving.served import SHOWROOM, TWO_PHASE, ServedError, missing, scripts
from pace_ros.study.serving.tool import add_arguments

SMALL = Plan(workloads=(TWO_PHASE,), arms=('pinned', 'predicted', 'collocated'), loads=(0.5,), errors=(0.0, 0.5),
             appends=(100, 3000), seeds=(1,), conversations=6, span=1.0, middle=0.3, high=0.6)


@pytest.fixture(scope='module')
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole small study, run in this process."""
    folder = tmp_path_factory.mktemp('study')
    (folder / CELLS).mkdir()
    Campaign(folder, SMALL, workers=1)._keep_plan()
    for cell in SMALL.cells():
        run_cell(folder, SMALL, cell, None)
    merge(folder)
    return folder


def test_cells_by_part() -> None:
    cells = SMALL.cells()
    counts = pd.Series([each.part for each in cells]).value_counts().to_dict()
    assert counts == {RATES: 3, POWER: 3 * 2 * 2, PREDICTION: 2 * 3, APPEND: 2 * 3}
    assert len({each.name for each in cells}) == len(cells)


@pytest.mark.parametrize(('change', 'sentence'), [
    ({'arms': ('best',)}, "There is no arm 'best'; there are pinned, predicted"),
    ({'loads': (0.0,)}, 'loads above 0'),
    ({'errors': (1.5,)}, 'share of 1'),
    ({'conversations': 1}, 'two conversations a cell'),
    ({'workloads': (), 'parts': (APPEND,)}, 'has anything to run'),
])
def test_a_plan_that_cannot_be_is_refused_in_a_sentence(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(ServingPlanError, match=sentence):
        dataclasses.replace(SMALL, **change)  # type: ignore[arg-type]


def test_a_cell_gives_the_same_turns_each_time_and_all_arms_the_same_conversations() -> None:
    one, again = (ran_cell(SMALL, Cell(RATES, TWO_PHASE, HOMOGENEOUS, 'pinned', 0.5, 1), None) for _ in range(2))
    other = ran_cell(SMALL, Cell(RATES, TWO_PHASE, HETEROGENEOUS, 'collocated', 0.5, 1), None)
    pd.testing.assert_frame_equal(one.turns, again.turns)
    for turns in (one.turns, other.turns):
        assert (turns['prompt'] == turns['read'] + turns['cached']).all()
    firsts = [each.turns.loc[each.turns['turn'] == 1].set_index('conversation')[['arrival', 'prompt']].sort_index()
              for each in (one, other)]
    pd.testing.assert_frame_equal(*firsts)
    assert one.summary['binding']
    assert one.summary['energy'] > 0


def test_a_study_goes_on_where_it_was_and_refuses_other_settings(study: Path) -> None:
    before = (study / 'turns.parquet').read_bytes()
    seen: list[tuple[int, int]] = []
    Campaign(study, SMALL, workers=1).run(lambda done, total: seen.append((done, total)))
    assert seen == []  # nothing was missing
    assert (study / 'turns.parquet').read_bytes() == before
    with pytest.raises(ServingPlanError, match='holds a study with other settings: conversations'):
        Campaign(study, dataclasses.replace(SMALL, conversations=7), workers=1).run(lambda _done, _total: None)


def test_a_trace_that_is_not_at_hand_is_left_out_with_its_reason(tmp_path: Path) -> None:
    plan = dataclasses.replace(SMALL, workloads=('agent',), parts=(RATES,))
    campaign = Campaign(tmp_path, plan, workers=1, traces=tmp_path)
    assert 'there is no agentic_turns_kv_cache_tester.jsonl' in campaign.left_out['agent']
    with pytest.raises(ServingPlanError, match='Nothing can be run'):
        campaign.run(lambda _done, _total: None)
    with pytest.raises(ServedError, match='--traces'):
        scripts('chat', None, seed=1, longest=1000)
    assert missing(TWO_PHASE, None) == ''


def test_the_report_has_every_table_and_figure(study: Path, tmp_path: Path) -> None:
    results = read(study, published(config_dir() / report.PUBLISHED))
    paths = report.write(results, ('csv', 'html'), tmp_path)
    names = {each.name for each in paths}
    assert {'report.html', 'methods.md', 'serving_claims.csv', 'serving_rates.csv', 'serving_appends.csv',
            'serving_prediction.csv', 'serving_occupancy.csv'} <= names
    html = (tmp_path / 'report.html').read_text()
    assert '<h1>Conversation-level serving</h1>' in html
    assert html.count('<svg') == 4
    assert '−51.1%' in html  # the published number, beside ours
    claims = pd.read_csv(tmp_path / 'serving_claims.csv')
    assert set(claims['label']) == {'simulated', 'modelled'}
    rates = pd.read_csv(tmp_path / 'serving_rates.csv').set_index('arm')
    own = chosen(results.turns, part=RATES, arm='pinned')
    later = own.loc[own['turn'] > 1, 'ttft']
    assert rates.loc['pinned', 'later_p95'] == pytest.approx(later.quantile(0.95))
    runs = chosen(results.runs, part=RATES, arm='pinned').iloc[0]
    assert rates.loc['pinned', 'tokens_per_joule'] == pytest.approx(own['answer'].sum() / runs['energy'])


def test_a_folder_without_a_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServingResultsError, match='has no finished study of serving'):
        read(tmp_path, published(config_dir() / report.PUBLISHED))


def test_what_is_published_is_the_paper_s() -> None:
    values = {each.measure: each.value for each in published(config_dir() / report.PUBLISHED).numbers}
    assert values == {
        'ttfet_p95_change': -0.5108, 'slo_violations': 0.0, 'tokens_per_joule_change_homogeneous': 0.0751,
        'tokens_per_joule_change_heterogeneous': 0.2275, 'prediction_error_change': 0.0,
    }


def test_the_command_line_makes_the_plan_that_is_asked_for() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = parser.parse_args(['run', '--arms', 'pinned', '--loads', '0.5', '--parts', RATES, '--seeds', '4'])
    plan = plan_of(options)
    assert (plan.arms, plan.loads, plan.parts, plan.seeds) == (('pinned',), (0.5,), (RATES,), (4,))
    assert json.dumps(plan.as_fields())


def test_slots_with_a_cache_each_share_fewer_steps_and_the_methods_say_so(study: Path) -> None:
    cell = Cell(RATES, TWO_PHASE, HOMOGENEOUS, 'pinned', 0.5, 1)
    own, shared = (dataclasses.replace(SMALL, conversations=30, slots=16, kv=kv) for kv in (0, 16 * SMALL.context))
    assert own.cache == shared.cache == shared.kv
    slow, fast = (ran_cell(plan, cell, None).turns['tbt_mean'].mean() for plan in (own, shared))
    assert slow > 1.02 * fast
    results = read(study, published(config_dir() / report.PUBLISHED))
    assert 'a cache of its own' not in methods.markdown(results)
    results.plan['plan']['kv'] = 0
    assert 'a cache of its own' in methods.markdown(results)


def test_a_fleet_too_small_for_anybody_is_reported_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = dataclasses.replace(SMALL, workloads=(SHOWROOM,), context=100, kv=3200, slots=8, conversations=2,
                               arms=('pinned', 'predicted', 'collocated'))
    (tmp_path / CELLS).mkdir()
    Campaign(tmp_path, plan, workers=1)._keep_plan()
    for cell in plan.cells():
        run_cell(tmp_path, plan, cell, None)
    merge(tmp_path)
    results = read(tmp_path, published(config_dir() / report.PUBLISHED))
    written = report.write(results, ('csv', 'terminal', 'png', 'html'), tmp_path / 'report')
    rates = pd.read_csv(tmp_path / 'report' / 'serving_rates.csv')
    assert set(rates['refused']) == {1.0}
    assert f'In {len(rates)} of {len(rates)} cells every turn was refused' in ' '.join(capsys.readouterr().out.split())
    assert tmp_path / 'report' / 'report.html' in written
