"""What each answer from the cache was: right, of another meaning, wrong when it was cached, or stale."""
from __future__ import annotations

import numpy as np
import pandas as pd

from pace_ros.language import normal_form

RIGHT, OTHER, WRONG, STALE = 'right', 'other meaning', 'wrong when cached', 'stale'


def hit_kinds(rows: pd.DataFrame) -> pd.Series:
    """Of each row its kind, '' where L0 did not answer.

    ``rows`` are all of a run, warm-up included: what their texts mean says what ``cached_question`` means. Where no row
    asks in its words, or the column lacks, a wrong answer that is not stale counts as of another meaning.
    """
    error, stale = rows['cache_error'].eq(True), rows['stale'].eq(True)
    other = _of_another_meaning(rows).fillna(error & ~stale).astype(bool)
    kinds = np.select([rows['path'] != 'L0', other, stale, error], ['', OTHER, STALE, WRONG], RIGHT)
    return pd.Series(kinds, index=rows.index, dtype=object)


def _of_another_meaning(rows: pd.DataFrame) -> pd.Series:
    """True or false; None where the meaning of the cached question is not known."""
    found = pd.Series(None, index=rows.index, dtype=object)
    if not {'text', 'meaning', 'cached_question'} <= {*rows}:
        return found
    cached = rows['cached_question'].where(rows['cached_question'].notna(), '').astype(str)
    asked = rows.loc[rows['text'].notna() & rows['meaning'].notna(), ['dataset', 'text', 'meaning']].drop_duplicates()
    meanings: dict[tuple[str, str], set[str]] = {}
    for dataset, text, meaning in asked.itertuples(index=False):
        meanings.setdefault((dataset, normal_form(str(text))), set()).add(str(meaning))
    for place in rows.index[cached != '']:
        known = meanings.get((rows.at[place, 'dataset'], normal_form(cached.at[place])))
        if known:
            found.at[place] = str(rows.at[place, 'meaning']) not in known
    return found
