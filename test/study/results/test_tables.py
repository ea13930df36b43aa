"""The tables on rows few enough to be counted by hand, and on a run that lacks parts."""
from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from study.results.made_rows import made_rows

from pace_ros.study.evaluation.columns import COLUMNS
from pace_ros.study.judging.blinding import answer_id
from pace_ros.study.results.hit_kinds import hit_kinds
from pace_ros.study.results.published import Number, Published
from pace_ros.study.results.rows import Results, ResultsError, prepared
from pace_ros.study.results.table_ablations import ablations
from pace_ros.study.results.table_comparison import comparison
from pace_ros.study.results.table_endpoint import endpoint
from pace_ros.study.results.table_fillers import fillers
from pace_ros.study.results.table_gate import gate
from pace_ros.study.results.table_judge import judge
from pace_ros.study.results.table_library import library
from pace_ros.study.results.table_ratios import alone_ratios, full_ratios, plus_ratios
from pace_ros.study.results.table_seeds import seeds
from pace_ros.study.results.table_spot import spot
from pace_ros.study.results.table_transfer import transfer
from pace_ros.study.results.table_volatility import volatility
from pace_ros.study.results.tables import all_tables

PAPER = Published('a paper', (
    Number('VI', 'pace-full', 'calls_saved', 0.0, 0.94, 'quoted'),
    Number('VII', 'admit-all', 'stale_rate', 0.0, 0.86, 'quoted'),
))
DEFAULTS: dict[str, object] = {
    'part': 'campaign', 'dataset': 'carqa', 'arm': 'pace-full', 'concurrency': 4.0, 'seed': 1, 'phase': 'measured',
    'at': 0.0, 'lag': 0.0, 'question_id': 'q', 'path': 'L2', 'outcome': 'ANSWERED', 'ptfr': 1.0, 'completion': 2.0,
    't_embed': 0.001, 't_route': 0.002, 't_path': 0.997, 'filler_launched': False, 'filler_shown': False,
    'filler_calls': 0, 'filler_conflict': '', 'stale_reject': False, 'tokens_in': 0, 'tokens_out': 0,
    'tokens_wasted': 0, 'hedge': '', 'correct': True, 'quality': 5.0, 'stale': False, 'cache_error': False,
    'after_change': False, 'gate': 'static',
}


def results(*rows: dict[str, object]) -> Results:
    """Rows with what they differ in from DEFAULTS; PL is PTFR where not said."""
    numbered = [{'index': place, **DEFAULTS, **row} for place, row in enumerate(rows)]
    frame = pd.DataFrame([{'perceived_latency': row['ptfr'], **row} for row in numbered]).reindex(columns=list(COLUMNS))
    return prepared(frame, {}, PAPER)


def column(arm: str, values: list[float], **more: object) -> list[dict[str, object]]:
    """The requests 0, 1, .. of an arm with these PTFR."""
    return [{'arm': arm, 'index': place, 'ptfr': value, **more} for place, value in enumerate(values)]


def test_table_iv_counts_from_receipt_and_from_the_intended_send_time() -> None:
    table = comparison(results(
        *({'ptfr': each, 'lag': 0.5, 'perceived_latency': each / 2, 'tokens_in': 30, 'tokens_out': 10,
           'tokens_wasted': 5, 'quality': each} for each in (1.0, 2.0, 3.0)),
        {'path': 'L0', 'ptfr': 4.0, 'lag': 0.5, 'perceived_latency': 2.0, 'quality': 2.0, 'cache_error': True},
        {'path': 'L1', 'ptfr': 5.0, 'lag': 0.5, 'perceived_latency': 2.5, 'quality': 4.0},
        {'phase': 'warm-up', 'ptfr': 99.0},
    ))[0]
    row = table.frame.iloc[0]
    assert (row['requests'], row['answered'], row['instant']) == (5, 1.0, 0.4)
    assert (row['ptfr_p50'], row['ptfr_p95']) == (3.0, pytest.approx(4.8))
    assert (row['sent_ptfr_p50'], row['sent_ptfr_p95']) == (3.5, pytest.approx(5.3))
    assert (row['pl_p50'], row['pl_p95'], row['sent_pl_p50']) == (1.5, pytest.approx(2.4), 2.0)
    assert (row['quality'], row['cache_error_rate'], row['lag_p95']) == (2.4, 0.5, 0.5)
    assert (row['tokens'], row['wasted']) == (27.0, 3.0)  # 3 of 5 turns: 30 in, 10 out, 5 wasted
    assert math.isnan(row['published_ptfr_p95'])
    assert table.shown['paper P50 / P95'].iloc[0] == '– / –'
    assert 'not at hand' in table.note


def test_no_answer_counts_as_infinite() -> None:
    row = comparison(results(
        *({'ptfr': 1.0} for _ in range(9)), {'ptfr': math.nan, 'outcome': 'FAILED', 'path': 'UNKNOWN'},
    ))[0]
    assert row.frame['answered'].iloc[0] == 0.9
    assert row.frame['ptfr_p50'].iloc[0] == 1.0
    assert math.isinf(row.frame['ptfr_p95'].iloc[0])
    assert row.shown['PTFR P95'].iloc[0].startswith('∞')


def test_table_v_compares_with_pace_full_request_by_request() -> None:
    full = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    table = ablations(results(*column('pace-full', full), *column('a1', [2 * each for each in full], quality=4.0),
                              *column('a2-off', full)))
    slower, same = table.frame.to_dict('records')
    assert (slower['arm'], slower['pairs'], slower['ptfr_p50_ratio'], slower['ptfr_p95_ratio']) == ('a1', 8, 2.0, 2.0)
    assert (slower['ptfr_p95_ratio_low'], slower['ptfr_p95_ratio_high']) == (2.0, 2.0)
    assert (slower['median_difference'], slower['quality_difference']) == (-4.5, -1.0)
    assert slower['p_wilcoxon'] == pytest.approx(2 / 2**8)  # all of eight signs alike
    assert slower['p_holm'] == pytest.approx(4 / 2**8)  # the smaller of two, doubled
    assert (same['ptfr_p95_ratio'], same['median_difference'], same['p_holm']) == (1.0, 0.0, 1.0)


def test_table_vi_counts_calls_saved_against_the_fixed_arm() -> None:
    shown = {'filler_launched': True, 'filler_shown': True, 'filler_calls': 1, 'filler_elapsed': 0.4,
             'perceived_latency': 0.4}
    table = fillers(results(
        *column('a2-fixed', [1.0] * 10, **shown), *column('pace-full', [1.0], **shown, filler_conflict='number'),
        {'arm': 'pace-full', 'index': 1, 'path': 'L0', 'filler_launched': True},  # ended by its answer before a call
        *({'arm': 'pace-full', 'index': place} for place in range(2, 10)), *column('a2-off', [1.0] * 10),
    ))
    full, fixed = table.frame.to_dict('records')  # a2-off has no row: it never calls
    assert (full['calls'], full['shown'], full['saved'], full['conflict_rate']) == (1, 1, 0.9, 1.0)
    assert (full['launched_share'], full['saved_launches']) == (0.2, 0.8)
    assert (full['per_request'], full['saved_always'], fixed['saved_always']) == (0.1, 0.9, 0.0)
    assert (full['gain_p50'], full['pl_gain']) == (pytest.approx(0.6), pytest.approx(0.06))
    assert (fixed['calls'], fixed['conflict_rate'], fixed['pl_gain']) == (10, 0.0, pytest.approx(0.6))
    assert math.isnan(fixed['saved'])
    assert math.isnan(full['saved_static'])
    assert list(table.shown['paper saved']) == ['94.0%', '–']


def test_table_vii_counts_stale_answers_after_a_change() -> None:
    def asked(arm: str, count: int, **more: object) -> list[dict[str, object]]:
        return [{'part': 'volatility', 'arm': arm, **more}] * count

    rows = [*asked('deny', 4, after_change=True), *asked('deny', 1, after_change=True, path='L1', cache_error=True),
            *asked('admit-all', 3, after_change=True, path='L0', stale=True, cache_error=True),
            *asked('admit-all', 1, after_change=True), *asked('admit-all', 6, path='L0')]
    table = volatility(results(*({**row, 'index': place} for place, row in enumerate(rows))))
    first, second = table.frame.to_dict('records')
    assert (first['policy'], first['after_change']) == ('admit-all', 4)
    assert (first['stale_rate'], first['hit_rate']) == (0.75, 0.9)
    assert (first['stale_of_l0_after_rate'], first['stale_of_l0_rate']) == (1.0, pytest.approx(1 / 3))
    assert math.isnan(second['stale_of_l0_rate'])
    assert "The paper's 86 %" in table.note
    assert (first['cache_error_rate'], first['published_stale_rate']) == (pytest.approx(1 / 3), 0.86)
    assert (second['policy'], second['stale_rate'], second['hit_rate'], second['cache_error_rate']) == ('deny', 0, 0, 1)
    assert list(table.shown['paper stale']) == ['86.0%', '–']


def test_table_viii_keeps_data_sets_apart() -> None:
    rows = [{**row, 'part': 'transfer', 'dataset': name} for name, factor in (('cmrc', 1.0), ('xquad', 3.0))
            for arm, share in (('pure-llm', 1.0), ('pace-full', 0.5))
            for row in column(arm, [factor * share * each for each in (1.0, 2.0, 3.0)])]
    table = transfer(results(*rows))
    assert list(table.frame['dataset']) == ['cmrc', 'cmrc', 'xquad', 'xquad']
    assert list(table.frame['ptfr_p50']) == [2.0, 1.0, 6.0, 3.0]
    assert list(table.frame['over_pure']) == [1.0, 0.5, 1.0, 0.5]


def test_the_gate_is_judged_in_steady_load_where_that_was_run() -> None:
    times = list(np.linspace(1, 2, 40))
    rows = [*column('pace-static', times, part='steady'), *column('pace-gated', times, part='steady'),
            *column('pace-gated', [9.0] * 40), *column('pace-static', times)]
    for each in rows[40:50]:
        each['gate'] = 'adaptive'
    row = gate(results(*rows)).frame.iloc[0]
    assert (row['requests'], row['exposure'], row['ptfr_p95_ratio']) == (40, 0.25, 1.0)
    assert row['verdict'] == 'not inferior'
    slow = gate(results(*rows[80:])).frame.iloc[0]  # the campaign's, without a steady part
    assert (slow['verdict'], slow['exposure']) == ('not shown', 0.0)


def test_ratios_of_one_run_with_what_they_cost() -> None:
    plus = column('pace-plus', [1.0] * 10, tokens_out=30, tokens_wasted=3)
    plus[0]['hedge'] = 'second'
    cold = [{**each, 'part': 'cold', 'concurrency': 1.0} for each in plus]
    run = results(*plus, *column('pace-static', [2.0] * 10, tokens_out=20, filler_calls=1, quality=4.0),
                  *cold, *column('pure-llm', [4.0] * 10, part='cold', concurrency=1.0),
                  *column('pace-full', [0.5] * 10), *column('standard-rag', [2.0] * 10))
    first, second = plus_ratios(run).frame.to_dict('records')
    assert (first['part'], first['over'], first['ptfr_p95_ratio']) == ('cold', 'pure-llm', 0.25)
    assert (second['over'], second['ptfr_p95_ratio'], second['quality_difference']) == ('pace-static', 0.5, 1.0)
    assert (second['tokens'], second['tokens_over'], second['wasted'], second['hedged']) == (33, 20, 3, 0.1)
    assert (second['fillers'], second['fillers_over']) == (0, 1)
    assert list(plus_ratios(run).shown['goal']) == ['met', 'met']
    full = full_ratios(run).frame
    assert dict(zip(full['over'], full['ptfr_p50_ratio'], strict=True)) == {'standard-rag': 0.25, 'pace-static': 0.25}
    assert 'no ingredient' in alone_ratios(run).note


def test_the_library_is_compared_hit_by_hit() -> None:
    rows = [*column('gptcache-library', [0.006] * 8, path='L0', text='How far?', meaning='range',
                    cached_question='How far'),
            *column('gptcache', [0.002] * 5, path='L0')]
    rows[0] |= {'cached_question': ' HOW FAST?'}  # right by chance, and asked for another meaning
    rows[1] |= {'cache_error': True, 'correct': False}
    rows[2] |= {'cache_error': True, 'stale': True}
    rows[3] |= {'cached_question': 'never asked here'}
    rows[4] |= {'cached_question': 'nor this', 'cache_error': True, 'correct': False}
    rows += [{'arm': 'gptcache', 'index': place} for place in range(5, 10)]
    rows += [{'arm': 'gptcache-library', 'index': place} for place in range(8, 10)]
    rows.append({'arm': 'pure-llm', 'phase': 'warm-up', 'text': 'How fast', 'meaning': 'speed'})
    found = library(results(*rows)).frame.set_index('arm')
    real, ours = found.loc['gptcache-library'], found.loc['gptcache']
    assert (real['hit_rate'], real['hit_p50']) == (0.8, 0.006)
    assert (real['true_hit_rate'], real['false_hit_rate']) == (0.4, 0.25)
    assert (real['wrong_when_cached_rate'], real['stale_hit_rate']) == (0.125, 0.125)
    assert (ours['hit_rate'], ours['hit_p95'], ours['true_hit_rate'], ours['false_hit_rate']) == (0.5, 0.002, 0.5, 0.0)


def test_a_meaning_is_that_of_its_own_data_set() -> None:
    asked = {'path': 'L0', 'text': 'a', 'meaning': '1', 'cached_question': 'b'}
    rows = pd.DataFrame([{**DEFAULTS, **asked}, {**DEFAULTS, **asked, 'dataset': 'other'},
                         {**DEFAULTS, 'dataset': 'other', 'text': 'b', 'meaning': '2'}])
    assert hit_kinds(rows).tolist() == ['right', 'other meaning', '']
    assert hit_kinds(rows.drop(columns='cached_question')).tolist() == ['right', 'right', '']


def test_a_language_model_is_set_beside_the_reference_judge() -> None:
    rows = [{'arm': arm, 'index': place, 'locale': 'en', 'text': f'{place}', 'reference': 'yes', 'answer': arm,
             'quality': quality} for arm in ('pace-full', 'pure-llm') for place, quality in enumerate((5.0, 3.0, 1.0))]
    scores = {answer_id(str(place), 'yes', 'pace-full'): score for place, score in enumerate((5, 4, 3))}
    frame = judge(replace(results(*rows), scores=scores)).frame
    row = frame.iloc[0]
    assert (len(frame), row['arm'], row['answers'], row['score'], row['quality']) == (1, 'pace-full', 3, 4.0, 3.0)
    assert (row['same'], row['within_one']) == (pytest.approx(1 / 3), pytest.approx(2 / 3))


def test_one_endpoint_is_confirmatory_and_the_rest_corrected() -> None:
    slow = [1.0 + each / 100 for each in range(60)]
    table = endpoint(results(*column('pace-full', [each / 2 for each in slow], concurrency=16.0),
                             *column('pace-static', slow, concurrency=16.0),
                             *column('pure-llm', slow, concurrency=16.0)))
    assert list(table.frame['status']) == ['confirmatory', 'exploratory', 'exploratory']
    assert list(table.frame['baseline']) == ['pace-static', 'pace-static', 'pure-llm']
    assert table.frame['verdict'].iloc[0] == 'confirmed'
    assert table.frame['ptfr_p95_ratio'].tolist() == [0.5, 0.5, 0.5]


def test_the_spot_check_takes_the_same_requests() -> None:
    rows = [*column('pace-full', [1.0] * 50 + [9.0] * 50), *column('pace-full', [1.0] * 40 + [1.2] * 10, part='spot')]
    first, second = spot(results(*rows)).frame.to_dict('records')
    assert (first['same'], first['requests'], first['requests_virtual'], first['virtual']) == (True, 50, 50, 1.0)
    assert (first['ratio'], first['ratio_low'], first['ratio_high']) == (1.0, 1.0, 1.0)
    assert first['agrees']
    assert second['ratio'] == pytest.approx(1.2)
    assert not second['agrees']


def test_other_requests_have_no_ratio() -> None:
    table = spot(results(*column('pace-full', [1.0] * 5), *column('pace-full', [1.0] * 5, part='spot', seed=2)))
    assert table.shown['agrees'].tolist() == table.shown['ratio'].tolist() == ['–', '–']


def test_means_over_seeds_have_students_interval() -> None:
    row = seeds(results(*({'seed': each, 'ptfr': float(each)} for each in (1, 2, 3)))).frame.iloc[0]
    assert (row['seeds'], row['ptfr_mean']) == (3, 2.0)
    assert row['ptfr_mean_high'] - 2.0 == pytest.approx(4.3027 / math.sqrt(3), rel=1e-4)


def test_parts_that_were_not_run_are_named_not_made_up() -> None:
    tables = all_tables(results(*column('pure-llm', [1.0, 2.0])))
    empty = {each.name: each.note for each in tables if not len(each.frame)}
    assert set(empty) == {'endpoint', 'table_v', 'table_vi', 'table_vii', 'table_viii', 'gate', 'ratios', 'plus',
                          'plus_alone', 'library', 'judge', 'spot'}
    assert all(note.startswith('This run has') for note in empty.values())


def test_arms_without_a_common_request_are_not_compared() -> None:
    run = results(*column('pace-full', [1.0, 2.0], seed=1), *column('pace-static', [1.0, 2.0], seed=2),
                  *column('a1', [1.0], seed=2))
    assert ablations(run).frame.empty
    assert endpoint(run).frame.empty
    assert full_ratios(run).shown['P95 ratio'].tolist() == ['–']


def test_a_frame_that_lacks_columns_is_refused_by_name() -> None:
    with pytest.raises(ResultsError, match='lacks the columns ptfr, quality'):
        prepared(made_rows(1, arms=('pure-llm',), offered=(1,)).drop(columns=['ptfr', 'quality']), {}, PAPER)
