"""What happened in one turn, in order: stages, filler, first token, and what each modality showed."""
from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

LANES = ('utterance', 'embed', 'route', 'filler', 'L2', 'text', 'speech', 'gaze', 'gesture')


@dataclass(frozen=True)
class Event:
    """A span of a lane (``end`` is a time), or an instant (``end`` is NaN); s since receipt.

    ``content`` is ACKNOWLEDGEMENT, FILLER, ANSWER, or empty for the robot's own work; ``view`` as in ``latency``.
    """

    lane: str
    name: str
    begin: float
    end: float = math.nan
    content: str = ''
    view: str = 'RECORD'

    @property
    def is_instant(self) -> bool:
        """Whether it has no duration."""
        return math.isnan(self.end)


@dataclass(frozen=True)
class Timeline:
    """One turn: ``why`` it was chosen, its row of ``load_turns``, and its events by begin."""

    why: str
    turn: dict[str, Any]
    events: tuple[Event, ...]

    @property
    def name(self) -> str:
        """A name for files."""
        return 'timeline_' + re.sub(r'[^\w-]', '_', str(self.turn['turn_id']))


def timeline(turns: pd.DataFrame, onsets: pd.DataFrame, turn_id: str, why: str = 'asked for') -> Timeline:
    """The timeline of a turn, named by its id or an unambiguous beginning of it. Raises ValueError for another."""
    found = turns.loc[turns['turn_id'].str.startswith(turn_id)]
    if len(found) != 1:
        raise ValueError(f'--turn {turn_id}: ' + ('no such turn' if found.empty else f'{len(found)} turns begin so'))
    turn = {str(name): value for name, value in found.iloc[0].items()}
    own = onsets.loc[onsets['turn_id'] == turn['turn_id']]
    events = [each for each in (*_stages(turn), *_filler(turn), *_shown(turn, own)) if not math.isnan(each.begin)]
    return Timeline(why, turn, tuple(sorted(events, key=lambda each: (each.begin, LANES.index(each.lane)))))


def chosen(turns: pd.DataFrame, onsets: pd.DataFrame) -> list[Timeline]:
    """A few telling turns: of each path the one with the median PTFR, and the slowest of all."""
    picked: dict[str, str] = {}
    answered = turns.loc[turns['ptfr'].notna()].sort_values('ptfr', kind='stable')
    for path in ('L0', 'L1', 'L2', 'FALLBACK'):
        own = answered.loc[answered['path'] == path]
        if len(own):
            picked.setdefault(own['turn_id'].iloc[(len(own) - 1) // 2], f'median of {path}')
    if len(answered):
        last = answered['turn_id'].iloc[-1]
        picked[last] = f'{picked[last]}, the slowest' if last in picked else 'the slowest'
    return [timeline(turns, onsets, turn_id, why) for turn_id, why in picked.items()]


def _stages(turn: dict[str, Any]) -> Iterator[Event]:
    since_end = turn['since_speech_end']
    yield Event('utterance', 'received', 0.0)
    if since_end > 0:
        yield Event('utterance', 'end of speech', -since_end, 0.0)
    embedded, routed = turn['t_embed'], turn['t_embed'] + turn['t_route']
    yield Event('embed', 'embedding', 0.0 if embedded >= 0 else math.nan, embedded)
    yield Event('route', 'look-up and routing', embedded if routed >= 0 else math.nan, routed)
    if turn['path'] == 'L2':
        ended = turn['ptfr'] if turn['ptfr'] >= 0 else turn['completion']
        yield Event('L2', 'waiting for the first token', routed if ended >= 0 else math.nan, ended)
        yield Event('L2', 'first token', turn['ptfr'], content='ANSWER')


def _filler(turn: dict[str, Any]) -> Iterator[Event]:
    if turn['filler_ready'] >= 0:
        yield Event('filler', 'in preparation', 0.0, turn['filler_ready'])
    if turn['path'] == 'L2' and turn['filler_budget'] >= 0:
        yield Event('filler', 'budget ends', turn['t_embed'] + turn['t_route'] + turn['filler_budget'])
    yield Event('filler', 'first filler frame', turn['filler_elapsed'], content='FILLER')


def _shown(turn: dict[str, Any], onsets: pd.DataFrame) -> Iterator[Event]:
    if turn['ptfr'] >= 0 and turn['completion'] > turn['ptfr']:
        yield Event('text', 'answer frames', turn['ptfr'], turn['completion'], 'ANSWER')
    for each in onsets.itertuples():
        lane = str(each.modality).lower()
        if lane not in LANES:
            continue
        content = str(each.content)
        yield Event(lane, _named(content, each.detail, lane), each.elapsed, content=content, view=str(each.source))
        if lane == 'speech' and each.source == 'COMMANDED' and not math.isnan(each.audible):
            yield Event(lane, f'{content.lower()} audible', each.audible, content=content, view='AUDIBLE')
    spoken = onsets.loc[(onsets['modality'] == 'SPEECH') & (onsets['source'] == 'COMMANDED')]
    if len(spoken) and turn['speech_end'] > spoken['elapsed'].max():  # where a filler before it ended is not recorded
        last = spoken.sort_values('elapsed').iloc[-1]
        yield Event('speech', f'speech, {turn["speech_outcome"] or "ended"}', float(last['elapsed']),
                    turn['speech_end'], str(last['content']))


def _named(content: str, detail: object, lane: str) -> str:
    """What an onset shows; what was said is in the record, so speech is named by its content alone."""
    name = content.lower()
    return f'{name} ({detail})' if detail and lane in ('gaze', 'gesture') else name
