"""What is recorded of a simulated turn."""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import pandas as pd


def _column(doc: str, default: Any = dataclasses.MISSING) -> Any:
    return dataclasses.field(default=default, metadata={'doc': doc})


@dataclasses.dataclass
class Row:
    """Times in s since the simulation began, spans in s, sizes in tokens, energy in J; NaN: did not happen."""

    conversation: str = _column('Its key.')
    turn: int = _column('Its number in the conversation, from 1.')
    last: bool = _column("Whether it is the script's last one.")
    arrival: float = _column('When it came.')
    prompt: int = _column('Tokens of its prompt.')
    answer: int = _column('Tokens of its answer.')
    append: int = _column('Tokens of its prompt that no cache could hold.')
    read_at: str = _column('Who read its prompt.', '')
    answered_at: str = _column('Who answered.', '')
    queued: float = _column('From arrival until it had a place.', 0.0)
    read: int = _column('Prompt tokens read by whoever read first.', 0)
    cached: int = _column('Prompt tokens found there: read + cached = prompt.', 0)
    reread: int = _column('Tokens read again by who answered, after a hand-over.', 0)
    lost: int = _column('Tokens of the conversation so far that had to be read again.', 0)
    moved: int = _column('Tokens handed over.', 0)
    hand_over: float = _column('From the prompt read to its cache in place.', 0.0)
    ttft: float = _column('From arrival to the first token.', math.nan)
    ttfet: float = _column('From arrival to the first token for the user.', math.nan)
    tbt_mean: float = _column('Between two tokens, mean.', math.nan)
    tbt_max: float = _column('Between two tokens, longest.', math.nan)
    stalls: int = _column('Gaps between two tokens longer than the limit.', 0)
    ended: float = _column('When its last token came.', math.nan)
    energy: float = _column('What its steps drew; idling is charged to nobody.', 0.0)
    refused: str = _column('Why it was not let in; empty: it was.', '')


COLUMNS = {each.name: str(each.metadata['doc']) for each in dataclasses.fields(Row)}
"""The columns of ``Outcome.turns``."""


def frame_of(rows: Iterable[Row]) -> pd.DataFrame:
    """In the order of arrival."""
    frame = pd.DataFrame([vars(each) for each in rows], columns=list(COLUMNS))
    return frame.sort_values(['arrival', 'conversation', 'turn'], kind='stable', ignore_index=True)


def conversations(turns: pd.DataFrame) -> pd.DataFrame:
    """By conversation: arrival, turns, ``complete`` (every turn was answered), ``ttfet`` from its arrival to its first
    token for the user, whichever turn gave it, and the last answered turn's ``tbt_mean`` and ``tbt_max``.
    """
    groups = turns.assign(out=turns['refused'] != '').sort_values('turn').groupby('conversation', sort=False)
    whole = pd.DataFrame({
        'arrival': groups['arrival'].first(), 'turns': groups.size(), 'energy': groups['energy'].sum(),
        'complete': groups['last'].any() & ~groups['out'].any(),
    })
    seen = (turns['arrival'] + turns['ttfet']).groupby(turns['conversation']).min()
    whole['ttfet'] = seen.reindex(whole.index) - whole['arrival']
    answered = turns[turns['refused'] == ''].sort_values('turn').groupby('conversation').tail(1)
    ends = answered.set_index('conversation')[['tbt_mean', 'tbt_max']].add_prefix('last_')
    return whole.join(ends).sort_values('arrival', kind='stable').reset_index()
