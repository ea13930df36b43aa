"""The methods page: how the numbers came about, what they cannot show, and where they differ from the paper's."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from pace_ros.study.results import words
from pace_ros.study.results.arms_order import switches
from pace_ros.study.results.rows import PARTS, Results, plan_of


@dataclass(frozen=True)
class Section:
    """A heading, its paragraphs, and perhaps a table."""

    title: str
    paragraphs: tuple[str, ...]
    table: pd.DataFrame = field(default_factory=pd.DataFrame)


_WORKLOAD = (
    ('Requests come open-loop on an absolute Poisson schedule drawn from a seed: they do not wait for answers, and '
     'every arm gets the same ones at the same instants. The offered concurrency c sets the rate: c over the mean '
     'completion time of pure LLM without load. Requests of the warm-up are in no table and no figure. Arms run one '
     'after the other on identical streams, each in a process and with a cloud of its own: they do not share load.'),
    ('Some 30 % of requests repeat a meaning asked before in the same stream, in the same or in other words. Further '
     "meanings were asked in the stream of the visitors who filled the snapshot: the table has how many requests' "
     'meanings were asked before in their own stream, warm-up included, and how many of these, and of the others, L0 '
     'answered (of the arms in which it answered any).'),
    ('What visitors say is simulated, the unfinished words of the recogniser too: pauses, revisions, and an '
     'end-pointing delay that differs. What speculative turns gain depends on that model.'),
    ('Parts: campaign, every arm at every c from a frozen snapshot of the cache; cold, from an empty cache; '
     'steady, the gate after a warm-up long enough for it to close; ramp, c up and down again with state carried '
     'over; volatility, answers that change while they are asked for; transfer, other data sets with everything '
     "frozen, at rates set by the campaign data set's completion time (c is nominal there); spot, in real time."),
)
_CLOCKS = (
    ('PTFR and PL count from the receipt of the utterance in the node by a monotonic clock; the same from the '
     'intended send time stands beside and contains the schedule lag. The two are never mixed.'),
    ('In virtual time waiting costs nothing, and local computation is charged: as measured on the machine, or at '
     'fixed cost, which makes two runs identical to the byte. The filler model is not run but sampled from its '
     'measured latencies. What the GPTCache library waits for the disk is no CPU time and is not charged; at fixed '
     'cost each look into it counts as 6 ms beside the encoding, as measured side by side with ours.'),
    ('What virtual time cannot show: processes and threads that compete for cores, caches and memory bandwidth; '
     "the interpreter's lock; scheduling and timer jitter of the operating system; connection set-up, TLS and "
     'packet loss of a network; transport over DDS; heat. They show in a run in real time only, which the spot '
     'check compares.'),
)
_JUDGE = (
    ('The reference judge compares facts: an answer is right if it states the facts of the reference as they are '
     'at that instant (or, for extractive data sets, contains an accepted text). Stale: it states those of a '
     'former edition. Quality, 1 to 5, follows from these by rule. A rule is no person: differences of quality '
     'below its steps mean little.'),
)
_STATISTICS = (
    ('A request without an answer counts as infinite in every percentile (∞). Percentiles and ratios of '
     'percentiles have 95 % intervals of the percentile bootstrap over requests within each seed, paired where two '
     "arms are compared. Shares have Wilson's intervals. Means over seeds have Student's t intervals and show how "
     "much seeds differ. Request by request arms are compared by Wilcoxon's signed ranks and a paired t-test, "
     'corrected by Holm across the baselines, or ablations, of one c.'),
    ('One endpoint is confirmatory: PTFR P95 at c = 16, PACE-full against PACE-static. Everything else is '
     'exploratory: it says where to look, not what is proven. Requests of one stream share the cache and the queue '
     'and are not fully independent, so that intervals over requests are somewhat narrow; those over seeds are '
     'not.'),
)
_DIFFERENCES = (
    ("The paper's own text was not at hand. Its numbers are shown where they are quoted in config/published.yaml "
     'and nowhere guessed; "–" stands in their place.'),
    ('Encoder: on board, about 1 ms a sentence on one thread, instead of a remote service. L0 and L1 therefore '
     'answer in milliseconds, and ratios of P50 against pure LLM come out far smaller than with a remote encoder.'),
    ('It is also another encoder with other similarities: the same thresholds let other pairs pass, so that hit, '
     'false-hit and stale rates differ.'),
    ('Cloud: simulated, with first-token and inter-token times drawn from distributions set to a regime, and '
     'answers made from the reference with set shares of knowing, admitting and inventing. Absolute latencies are '
     "that regime's, not those of a provider; ratios within one run are what to read. The first-token time does not "
     'depend on the length of the prompt: passages, persona and history cost tokens and no time.'),
    ('Fillers: calls are generations begun, 6 ms after a launch. L0 and L1 answer sooner, so that instant turns call '
     'the model in no arm, the fixed policy included, and an adaptive one has fewer calls left to spare than where a '
     'generator is started on every request. Table VI has launches, calls, and calls over requests.'),
    ("Volatility: its lexicon was extended after CarQA's questions had been read, so that the rates of deny and of "
     'TTLs in Table VII are in-sample for it. PACE-plus: its thresholds were chosen on '
     'another catalogue and other visitors (benchmarks/plus_thresholds.py); templates and word lists are the same.'),
    ("Data: the paper's data sets were not at hand; CarQA is generated anew, and its questions, repeats and change "
     'events follow the published sizes only.'),
)


_ELSEWHERE = {'cloud', 'arms', 'data'}  # entries of the plan that have a table of their own


def sections(results: Results) -> list[Section]:
    """The page in order."""
    plan = results.plan
    return [
        Section('Workload', _WORKLOAD, _counts(results.rows, entry(plan, 'data'))),
        Section('Arms', (_arms(plan),), switches(entry(plan, 'arms'))),
        Section('The cloud', (_cloud(plan),), _listed(plan_of(plan).get('cloud'))),
        Section('Clocks', (*_CLOCKS, *_time(plan))),
        Section('Judge', _JUDGE),
        Section('Statistics', _STATISTICS),
        Section("Where these numbers differ from the paper's, and why", _DIFFERENCES, _published(results)),
        Section('This run', _plan_note(plan), _listed({key: value for key, value in _flat(plan)
                                                       if not _ELSEWHERE & {*key.split('.')[:-1]}})),
    ]


def entry(plan: dict[str, Any], name: str) -> dict[str, Any]:
    """A mapping that the run wrote in plan.json, at its top or in its entry ``plan``; empty where it did not."""
    for content in (plan, plan_of(plan)):
        if isinstance(content.get(name), dict):
            return dict(content[name])
    return {}


def _arms(plan: dict[str, Any]) -> str:
    if entry(plan, 'arms'):
        return 'Switches of design section 8, and what else was set otherwise than shipped, as the run wrote them.'
    return ('Switches of design section 8, and what else is set otherwise than shipped. The plan of this run does not '
            'hold its arms: these are the ones of the program that made this report.')


def _counts(rows: pd.DataFrame, versions: dict[str, Any]) -> pd.DataFrame:
    found = []
    for part in (*PARTS, *sorted(set(rows['part']) - set(PARTS))):
        own = rows.loc[rows['part'] == part]
        if len(own):
            names = [f'{name} ({versions[name]})' if name in versions else name for name in sorted(set(own['dataset']))]
            found.append({
                'part': part, 'data sets': ', '.join(names), 'arms': own['arm'].nunique(),
                'offered c': ', '.join(f'{c:g}' if c else '–' for c in sorted(set(own['concurrency']))),
                'seeds': ', '.join(map(str, sorted(set(own['seed'])))), 'measured requests': len(own),
                **_repeats(own)})
        else:
            found.append({'part': part, 'data sets': 'not run', 'arms': '', 'offered c': '', 'seeds': '',
                          'measured requests': 0, **_repeats(own)})
    return pd.DataFrame(found)


def _repeats(rows: pd.DataFrame) -> dict[str, str]:
    """Which share had been asked before in its stream, and what share of these, and of the others, L0 answered."""
    seen = rows['seen'].eq(True) if 'seen' in rows else pd.Series(False, index=rows.index)
    known = 'seen' in rows and rows['seen'].notna().any()
    hit = rows['path'] == 'L0'
    caching = rows['arm'].isin(rows.loc[hit, 'arm'].unique())

    def share(values: pd.Series) -> str:
        return words.share(float(values.mean())) if known and len(values) else words.DASH

    return {'asked before': share(seen), 'L0, of these': share(hit[caching & seen]),
            'L0, of the others': share(hit[caching & ~seen])}


def _cloud(plan: dict[str, Any]) -> str:
    if plan_of(plan).get('base_url'):
        return 'L2 was a real endpoint; what it answered is not known from the reference.'
    if not plan_of(plan).get('cloud'):
        return 'The plan of this run says nothing of the cloud.'
    return ('L2 was a simulated, OpenAI-compatible endpoint: seeded first-token times that grow with the requests in '
            'flight, seeded gaps between tokens, answers made from the reference answer true at that instant. Its '
            'settings, times in s:')


def _time(plan: dict[str, Any]) -> tuple[str, ...]:
    kinds = {'measured': 'This run: virtual time, computing charged as measured.',
             'fixed': 'This run: virtual time, computing charged at fixed cost.', 'real': 'This run: real time.'}
    kind = kinds.get(str(plan_of(plan).get('time', '')))
    return (kind,) if kind else ()


def _published(results: Results) -> pd.DataFrame:
    return pd.DataFrame([{
        'table': each.table, 'arm': each.arm, 'measure': each.measure, 'c': f'{each.concurrency:g}' if each.concurrency
        else 'all', 'value': f'{each.value:g}', 'from': each.origin} for each in results.published.numbers])


def _plan_note(plan: dict[str, Any]) -> tuple[str, ...]:
    return ('Settings, machine and versions, as the run wrote them in plan.json.',) if plan else (
        'The run has no plan.json.',)


def _listed(content: Any) -> pd.DataFrame:
    return pd.DataFrame([{'setting': key, 'value': value} for key, value in _flat(content)])


def _flat(content: Any, name: str = '') -> Iterator[tuple[str, str]]:
    """Nested mappings as dotted names; lists of plain values in one line."""
    if isinstance(content, dict):
        for key in sorted(content):
            yield from _flat(content[key], f'{name}.{key}' if name else str(key))
    elif isinstance(content, list) and not any(isinstance(each, (dict, list)) for each in content):
        yield name, ', '.join(map(str, content)) or 'none'
    elif isinstance(content, list):
        for place, each in enumerate(content):
            yield from _flat(each, f'{name}.{place}')
    elif content is not None:
        yield name, str(content)


def markdown(results: Results) -> str:
    """The page as Markdown."""
    lines = ['# Methods', '']
    for each in sections(results):
        lines += [f'## {each.title}', '', *(line for text in each.paragraphs for line in (text, ''))]
        if len(each.table):
            lines += [_row(each.table.columns), _row('---' for _ in each.table.columns)]
            lines += [_row(row) for row in each.table.itertuples(index=False)]
            lines.append('')
    return '\n'.join(lines)


def _row(cells: Any) -> str:
    return '| ' + ' | '.join(str(each).replace('|', '\\|').replace('\n', ' ') for each in cells) + ' |'
