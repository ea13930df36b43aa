"""The tables of a report: as numbers, for files, and as words, for reading."""
from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pandas as pd

from pace_ros.study import latency, motion, usage
from pace_ros.study.quantiles import NEEDED, PERCENTS
from pace_ros.study.timeline import Timeline

VIEW_NAMES = {'RECORD': 'record', 'COMMANDED': 'commanded', 'AUDIBLE': 'audible', 'OBSERVED': 'observed'}
DASH = '–'


@dataclass(frozen=True)
class Table:
    """``frame`` holds numbers in s and shares, ``shown`` the same rows as text; ``note`` says how to read it.

    ``is_part`` is true of a table that shows a part of ``latency_summary``.
    """

    name: str
    title: str
    note: str
    frame: pd.DataFrame
    shown: pd.DataFrame
    is_part: bool = False


def seconds(value: float) -> str:
    """A duration (s) to the millisecond."""
    return DASH if math.isnan(value) else f'{value:.3f}'


def share(value: float) -> str:
    """A share as per cent."""
    return DASH if math.isnan(value) else f'{value:.1%}'


def is_numeric(column: pd.Series) -> bool:
    """Whether a column of text holds numbers, or dashes in their place."""
    return all(each[:1].isdigit() or each[:1] in '-–' for each in column)


def _interval(row: pd.Series, percent: int) -> str:
    value, low, high = (row[f'p{percent}{end}'] for end in ('', '_low', '_high'))
    return seconds(value) if math.isnan(low) else f'{value:.3f} [{low:.3f}, {high:.3f}]'


def _intervals(frame: pd.DataFrame) -> dict[str, list[str]]:
    return {f'P{each}': [_interval(row, each) for _, row in frame.iterrows()] for each in PERCENTS}


def _table(name: str, title: str, note: str, frame: pd.DataFrame, shown: dict[str, Iterable[object]]) -> Table:
    """Put together; a group column with but one value "all" is not shown."""
    text = pd.DataFrame({key: [str(each) for each in values] for key, values in shown.items()}, dtype=object)
    if 'group' in text and set(frame['group']) <= {latency.ALL}:
        text = text.drop(columns='group')
    return Table(name, title, note, frame, text)


QUANTILE_NOTE = (
    'Times in s since receipt of the utterance. In brackets: 95 % bootstrap interval over turns; none where n is below '
    + ', '.join(f'{NEEDED[each]} (P{each})' for each in PERCENTS) + ', too few for one.'
)


def all_tables(
    turns: pd.DataFrame, onsets: pd.DataFrame, summary: pd.DataFrame, *, by: str | None, seed: int
) -> list[Table]:
    """Every table that has rows, from ``grouped`` turns, their onsets and the ``latency_summary``."""
    motions = motion.motion_latencies(turns, onsets)
    tables = [
        _latencies(summary, 'ptfr', 'PTFR: time to the first informative response', ('PTFR',),
                   'Missing: turns without an informative answer in that modality; an apology is none. '
                   + QUANTILE_NOTE),
        _latencies(summary, 'pl', 'PL: perceived latency, the earlier of filler and answer', ('PL',),
                   'Missing: turns with neither.'),
        _latencies(summary, 'attention', 'Acknowledgements, and the first sign of any kind',
                   ('acknowledgement', 'first response', 'first sign'),
                   'First response: filler, answer or apology. First sign: these or an acknowledgement (nod, look). '),
        _latencies(summary, 'end_of_speech', 'From the end of speech', (latency.MEASURES['ptfr_end'],
                   latency.MEASURES['pl_end']),
                   "The same from the utterance's own stamp, of utterances that have one: what the visitor waits, "
                   'recogniser included.'),
        _promptness(summary), _alpha(turns), _paths(turns), _outcomes(turns), _fillers(turns, onsets),
        _decisions(turns), _motions(motions, seed), _vain(motions),
    ]
    return [replace(each, shown=each.shown.rename(columns={'group': by or ''})) for each in tables if len(each.frame)]


def _latencies(summary: pd.DataFrame, name: str, title: str, measures: tuple[str, ...], note: str) -> Table:
    own = summary.loc[summary['measure'].isin(measures)]
    if len(measures) > 1:  # of the first of all kinds, over all modalities; single ones stand in their own tables
        own = own.loc[(own['measure'] == 'acknowledgement') | (own['modality'] == 'EARLIEST')]
    shown: dict[str, Iterable[object]] = {} if len(measures) == 1 else {'measure': own['measure']}
    shown |= {
        'modality': own['modality'].str.lower(), 'source': own['view'].map(VIEW_NAMES), 'group': own['group'],
        'n': own['n'], 'missing': own['missing'], **_intervals(own),
    }
    return replace(_table(f'latency_{name}', title, note, own, shown), is_part=True)


def _promptness(summary: pd.DataFrame) -> Table:
    own = summary.loc[summary['measure'].isin(('first response', 'first sign', 'PL'))
                      & ((summary['measure'] != 'PL') | (summary['view'] == 'RECORD'))
                      & ((summary['measure'] != 'first sign') | (summary['modality'] == 'EARLIEST'))]
    own = own[['measure', 'modality', 'view', 'group', 'n', 'missing', 'within_0.5', 'within_1.0']]
    note = ('Share of all turns, those with nothing included, whose first perceivable response came within 0.5 s and '
            '1 s: without (first response) and with acknowledgements (first sign).')
    return replace(_table('promptness', 'Prompt responses', note, own, {
        'measure': own['measure'], 'modality': own['modality'].str.lower(), 'source': own['view'].map(VIEW_NAMES),
        'group': own['group'], 'turns': own['n'] + own['missing'], 'within 0.5 s': map(share, own['within_0.5']),
        'within 1 s': map(share, own['within_1.0']),
    }), is_part=True)


def _alpha(turns: pd.DataFrame) -> Table:
    curve = latency.alpha_curve(turns)
    few = curve.loc[curve['alpha'].isin((0.0, 0.25, 0.5, 0.75, 1.0))]
    note = ('PL_α = (1 − α) PTFR + α min(t_f, PTFR), of turns with an answer: α is what a filler is worth to the '
            'visitor, from nothing (0: PTFR) to as much as an answer (1: PL). Times in s.')
    shown = {'group': few['group'], 'α': few['alpha'], 'n': few['n'], 'mean': map(seconds, few['mean']),
             'P50': map(seconds, few['p50']), 'P95': map(seconds, few['p95'])}
    return _table('pl_alpha', 'PL over the worth of a filler', note, curve, shown)


def _paths(turns: pd.DataFrame) -> Table:
    own = usage.path_shares(turns)
    note = 'L0 cache, L1 knowledge base, L2 language model, FALLBACK knowledge with L2 out of reach, none: no answer.'
    return _table('paths', 'Paths', note, own, {
        'group': own['group'], 'path': own['path'].replace('UNKNOWN', 'none'), 'turns': own['turns'],
        'share': map(share, own['share']), 'PTFR P50': map(seconds, own['ptfr_p50'])})


def _outcomes(turns: pd.DataFrame) -> Table:
    own = usage.outcomes(turns)
    note = 'Answer begun: turns of which an informative answer was heard at least in part.'
    return _table('outcomes', 'Outcomes', note, own, {
        'group': own['group'], 'outcome': own['outcome'].str.lower(), 'turns': own['turns'],
        'share': map(share, own['share']), 'answer begun': own['answer_begun']})


def _fillers(turns: pd.DataFrame, onsets: pd.DataFrame) -> Table:
    own = usage.filler_use(turns, onsets)
    note = ('Spoken fillers, and turns with a gaze or gesture filler. Gained: median of PTFR − t_f where a filler came '
            'ahead of an answer. Conflicts: turns whose filler and answer disagree on a fact, of those with both.')
    return _table('fillers', 'Fillers', note, own, {
        'group': own['group'], 'turns': own['turns'], 'launched': own['launched'], 'shown': own['shown'],
        'of all': map(share, own['shown_share']), 'of L2': map(share, own['shown_l2_share']),
        'gained (s)': map(seconds, own['gained_p50']), 'gaze': own['gaze'], 'gesture': own['gesture'],
        'conflicts': own['conflicts'], 'conflict rate': map(share, own['conflict_rate'])})


def _decisions(turns: pd.DataFrame) -> Table:
    own = usage.filler_decisions(turns)
    return _table('filler_decisions', 'Why fillers were launched or not', 'Numbers in the reasons are left out.', own, {
        'decision': own['decision'], 'group': own['group'], 'turns': own['turns'], 'share': map(share, own['share'])})


def _motions(motions: pd.DataFrame, seed: int) -> Table:
    own = motion.motion_summary(motions, seed=seed)
    note = ('Observed − commanded, s, first onset of each turn, modality and content. Never: commanded, not observed; '
            'in brackets those the observer reported. Unasked: observed, not commanded. Early: observed before the '
            'command. Past audible: P50 and P95 of observed − audible, the error of the predicted first sound.')
    return _table('motion', 'From command to motion', note, own, {
        'modality': own['modality'].str.lower(), 'content': own['content'].str.lower(), 'group': own['group'],
        'commanded': own['commanded'], 'observed': own['observed'],
        'never': [f'{never} ({said})' if never else '0' for never, said in zip(own['never'], own['reported'],
                                                                               strict=True)],
        'unasked': own['unasked'], 'early': own['early'], **_intervals(own),
        'past audible': [DASH if math.isnan(one) else f'{one:.3f}, {other:.3f}'
                         for one, other in zip(own['audible_p50'], own['audible_p95'], strict=True)]})


def _vain(motions: pd.DataFrame) -> Table:
    own = motion.vain_reasons(motions)
    note = ('What the observer waited for in vain, and why; these onsets are in no quantile. '
            'Numbers in the reasons are left out.')
    return _table('not_observed', 'Commanded, reported as not observed', note, own, {
        'modality': own['modality'].str.lower(), 'content': own['content'].str.lower(), 'group': own['group'],
        'reason': own['reason'], 'turns': own['turns']})


def timeline_table(line: Timeline) -> Table:
    """The events of one turn."""
    columns = ['lane', 'name', 'begin', 'end', 'content', 'view']
    frame = pd.DataFrame([vars(each) for each in line.events], columns=columns)
    shown = {'s': map(seconds, frame['begin']), 'until': map(seconds, frame['end']), 'lane': frame['lane'],
             'event': frame['name'], 'source': frame['view'].map(VIEW_NAMES)}
    return _table(line.name, timeline_title(line), '', frame, shown)


def timeline_title(line: Timeline) -> str:
    """Which turn it is, in one line without anything said."""
    turn = line.turn
    origin = ' '.join(str(turn[name]) for name in ('robot', 'day', 'arm') if turn[name])
    return (f'Turn {turn["turn_id"][:8]} ({line.why}): {turn["path"]}, {str(turn["outcome"]).lower()}, PTFR '
            f'{seconds(turn["ptfr"])} s, PL {seconds(turn["perceived_latency"])} s' + (f'; {origin}' if origin else ''))
