"""PTFR and PL of every turn and modality, as commanded and as observed (design section 6), and what sums them up.

A *view* says where times come from: RECORD (the turn's own record: first informative token, first filler frame or
preamble), COMMANDED (onsets the robot was told to produce), AUDIBLE (the same for speech, leading silence and the
sink's latency added), OBSERVED (what a bystander could perceive).
"""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from pace_ros.study.quantiles import PERCENTS, quantiles
from pace_ros.study.sessions import SAME

VIEWS = ('RECORD', 'COMMANDED', 'AUDIBLE', 'OBSERVED')
MODALITIES = ('TEXT', 'SPEECH', 'GAZE', 'GESTURE', 'EARLIEST')
MEASURES = {
    'ptfr': 'PTFR', 'pl': 'PL', 'response': 'first response', 'sign': 'first sign',
    'acknowledgement': 'acknowledgement', 'ptfr_end': 'PTFR from the end of speech',
    'pl_end': 'PL from the end of speech',
}
WITHIN = (0.5, 1.0)
"""s in which a first response is called prompt."""
ALPHAS = tuple(round(0.05 * step, 2) for step in range(21))
ALL = 'all'


def grouped(turns: pd.DataFrame, by: str | None) -> pd.DataFrame:
    """The turns with a column ``group``: the value of ``by`` (robot, day, arm or file), or "all"."""
    if by is None:
        return turns.assign(group=ALL)
    unnamed = {'robot': 'no namespace', 'arm': 'own settings', 'day': 'no date'}.get(by, '')
    return turns.assign(group=turns[by].where(turns[by] != '', unnamed))


def latencies(turns: pd.DataFrame, onsets: pd.DataFrame) -> pd.DataFrame:
    """One row a turn, view and modality; all times in s since receipt, NaN where it did not happen.

    ``ptfr``: first onset of an informative answer (an apology is none). ``filler``: first filler; a preamble, which the
    language model says before it calls a tool, is one. ``pl``: the earlier of the two, PL^m. ``response``: the same,
    apologies included. ``acknowledgement``: first nod or look. ``sign``: first of all these. ``ptfr_end`` and
    ``pl_end`` count from the utterance's own stamp, where it has one: beside the others, never mixed with them.
    Modality EARLIEST is the earliest over modalities. A turn has a row for each view and modality that its own session
    (robot and file) measured at all: so a row of NaN is a turn in which it was missing.
    """
    shown = _views(_preambles_as_fillers(turns, onsets))
    shown = pd.concat([shown, shown.loc[shown['view'] != 'AUDIBLE'].assign(modality='EARLIEST')], ignore_index=True)
    first = shown.groupby(['turn_id', 'view', 'modality', 'content'], observed=True)['elapsed'].min().unstack('content')
    first = first.reindex(columns=['ACKNOWLEDGEMENT', 'FILLER', 'ANSWER'])
    rows = _measured(turns, shown).join(first, on=['turn_id', 'view', 'modality'])
    informative = rows['turn_id'].map(turns.set_index('turn_id')['ptfr']).notna()
    result = pd.DataFrame({
        'turn_id': rows['turn_id'], 'view': rows['view'], 'modality': rows['modality'],
        'ptfr': rows['ANSWER'].where(informative), 'filler': rows['FILLER'],
        'acknowledgement': rows['ACKNOWLEDGEMENT'],
    })
    result['pl'] = result[['ptfr', 'filler']].min(axis=1)
    result['response'] = rows[['ANSWER', 'FILLER']].min(axis=1)
    result['sign'] = result[['response', 'acknowledgement']].min(axis=1)
    result = pd.concat([_recorded(turns), result], ignore_index=True)
    since_end = result['turn_id'].map(turns.set_index('turn_id')['since_speech_end'])
    return result.assign(ptfr_end=result['ptfr'] + since_end, pl_end=result['pl'] + since_end)


def _preambles_as_fillers(turns: pd.DataFrame, onsets: pd.DataFrame) -> pd.DataFrame:
    """The onsets with those of preambles as fillers: they are published before it is known that they are no answer."""
    ptfr = turns.loc[turns['ttfet_preamble'].notna()].set_index('turn_id')['ptfr'].fillna(np.inf)
    before = (onsets['content'] == 'ANSWER') & (onsets['elapsed'] < onsets['turn_id'].map(ptfr) - SAME)
    return onsets.assign(content=onsets['content'].mask(before, 'FILLER'))


def _views(onsets: pd.DataFrame) -> pd.DataFrame:
    """Onsets by view; an elapsed of NaN is one that an observer waited for in vain."""
    shown = onsets[['turn_id', 'source', 'modality', 'content', 'elapsed']]
    heard = onsets.loc[(onsets['source'] == 'COMMANDED') & onsets['audible'].notna()]
    heard = heard.assign(source='AUDIBLE', elapsed=heard['audible'])[list(shown.columns)]
    both = [part.astype({'source': object, 'modality': object, 'content': object}) for part in (shown, heard)]
    return pd.concat(both, ignore_index=True).rename(columns={'source': 'view'})


def _measured(turns: pd.DataFrame, shown: pd.DataFrame) -> pd.DataFrame:
    """Every turn with each view and modality that occurs in its session."""
    session = turns[['turn_id', 'robot', 'file']]
    occurring = shown[['turn_id', 'view', 'modality']].merge(session, on='turn_id')
    occurring = occurring[['robot', 'file', 'view', 'modality']].drop_duplicates()
    return session.merge(occurring, on=['robot', 'file'])[['turn_id', 'view', 'modality']]


def _first_filler(turns: pd.DataFrame) -> pd.Series:
    """t_f by the records: the first filler frame or, if that is earlier, the preamble."""
    shown = turns['filler_elapsed'].where(turns['filler_shown'].fillna(False).astype(bool))
    return pd.concat([shown, turns['ttfet_preamble']], axis=1).min(axis=1)


def _recorded(turns: pd.DataFrame) -> pd.DataFrame:
    filler = _first_filler(turns)
    pl = pd.concat([turns['ptfr'], filler], axis=1).min(axis=1)
    return pd.DataFrame({
        'turn_id': turns['turn_id'], 'view': 'RECORD', 'modality': 'TEXT', 'ptfr': turns['ptfr'], 'filler': filler,
        'acknowledgement': np.nan, 'pl': pl, 'response': np.nan, 'sign': np.nan,
    })


def latency_summary(turns: pd.DataFrame, times: pd.DataFrame, *, seed: int = 0) -> pd.DataFrame:
    """One row a measure, modality, view and group, from ``grouped`` turns and their ``latencies``.

    Columns: n (turns in which it happened), missing (turns in which it did not), p50 p95 p99 with _low and _high (s,
    95 % interval, NaN where n is too small for one), within_0.5 and within_1.0 (share of all n + missing turns).
    """
    times = times.merge(turns[['turn_id', 'group']], on='turn_id')
    parts = {key: part for key, part in times.groupby(['group', 'view', 'modality'], observed=True)}  # noqa: C416
    occurs = times.groupby(['view', 'modality'])[list(MEASURES)].count()
    rows = []
    for measure, modality, view in _kinds():
        for group in dict.fromkeys(turns['group']):
            part = parts.get((group, view, modality))
            if part is not None and occurs.loc[(view, modality), measure]:
                rows.append({'measure': MEASURES[measure], 'modality': modality, 'view': view, 'group': group,
                             **_summed(part[measure], seed)})
    return pd.DataFrame(rows, columns=['measure', 'modality', 'view', 'group', *_summed(pd.Series(dtype=float), seed)])


def _kinds() -> Iterator[tuple[str, str, str]]:
    for measure in MEASURES:
        for modality in MODALITIES:
            for view in VIEWS:
                yield measure, modality, view


def _summed(values: pd.Series, seed: int) -> dict[str, float]:
    found = quantiles(values, seed=seed)
    result: dict[str, float] = {'n': found.n, 'missing': len(values) - found.n}
    for percent in PERCENTS:
        result[f'p{percent}'] = found.value[percent]
        result[f'p{percent}_low'], result[f'p{percent}_high'] = found.low[percent], found.high[percent]
    for limit in WITHIN:
        result[f'within_{limit}'] = float((values <= limit).mean()) if len(values) else np.nan
    return result


def alpha_curve(turns: pd.DataFrame) -> pd.DataFrame:
    """PL_alpha = (1 - alpha) PTFR + alpha min(t_f, PTFR) over alpha in [0, 1], by group; of turns with an answer.

    Columns: group, alpha, n, mean, p50, p95 (s). alpha is the weight of a filler: at 0 it counts nothing (PTFR), at 1
    as much as an answer (PL).
    """
    answered = turns.loc[turns['ptfr'].notna()]
    early = pd.concat([answered['ptfr'], _first_filler(answered)], axis=1).min(axis=1)
    rows = []
    for group in dict.fromkeys(answered['group']):
        own = answered['group'] == group
        ptfr, perceived = answered.loc[own, 'ptfr'].to_numpy(), early[own].to_numpy()
        for alpha in ALPHAS:
            values = (1 - alpha) * ptfr + alpha * perceived
            rows.append({'group': group, 'alpha': alpha, 'n': len(values), 'mean': float(values.mean()),
                         'p50': float(np.percentile(values, 50)), 'p95': float(np.percentile(values, 95))})
    return pd.DataFrame(rows, columns=['group', 'alpha', 'n', 'mean', 'p50', 'p95'])
