"""Pinning: how long a conversation's second turn waits for its first token, pinned to its KV cache and not.

    scripts/campaign.sh serving_pinning [BLOCKS] [TOKENS]

One prefiller with a core of its own, two decoders on the other; the packaged small model. In every block two visitors
come at once under every policy, each with its own first prompt of TOKENS tokens; when both are answered they ask again,
in an order drawn by lot. All slots are emptied before a policy's turn, and the order of the policies is drawn, too.
Then answers at temperature 0 are compared after a hand-over and without one. Exit code 1 where pinned is not ten times
as fast as round robin at the median, or a text differs that must not.
"""
from __future__ import annotations

import contextlib
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
import httpx
import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table

from pace_ros.study.live_serving.audit import figures
from pace_ros.study.live_serving.brochure import brochure
from pace_ros.study.live_serving.exactness import Told, emptied, slot_call, told
from pace_ros.study.live_serving.live_fleet import LiveFleet, live_fleet, one_prefiller_two_decoders
from pace_ros.study.live_serving.visitor import ANSWERED, PATIENCE, Heard, Visitor
from pace_ros.study.refusal import refusing
from pace_ros.study.statistics.percentile_ratio import percentile_ratio

BLOCKS, TOKENS = 2, 1000
SLOTS, ANSWER = 4, 12
POLICIES = ('pinned', 'predicted', 'round-robin', 'least-loaded', 'disaggregated')
PATIENT = {  # it is placement that is measured, not admission; a slot is saved once the batch under way has been read
    'admission': {'utilisation': 10.0, 'wait': 120.0},
    'deadlines': {'prefill': 120.0, 'first_token': 120.0, 'hand_over': 60.0},
}
COUNTED = ('read', 'handed_over', 'hand_overs_failed')
GOAL = 10.0
EXACT_PROMPTS, EXACT_TOKENS, EXACT_ANSWER = 4, 250, 24
OPENER, FOLLOW_UP = 'Which model is the quiet one?', 'And what do you know about the charger?'


async def visits(base_url: str, prompts: list[str], chance: random.Random) -> list[tuple[Heard, Heard]]:
    """First and second turns of visitors that come at the same time."""
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
        visitors = [Visitor(http, base_url, f'visitor-{each}', text) for each, text in enumerate(prompts)]
        turns = []
        for text in (OPENER, FOLLOW_UP):
            heard = [Heard(0.0) for _ in visitors]
            order = [*range(len(visitors))]
            chance.shuffle(order)
            async with anyio.create_task_group() as group:
                for each in order:
                    group.start_soon(_ask, visitors[each], text, heard[each])
                    await anyio.sleep(0.05)
            turns.append(heard)
        for each in visitors:
            await each.end()
    return list(zip(*turns, strict=True))


async def _ask(visitor: Visitor, text: str, heard: Heard) -> None:
    await visitor.ask(text, heard=heard, max_tokens=ANSWER)


def measured(fleet: LiveFleet, blocks: int, tokens: int) -> pd.DataFrame:
    """One row a visitor and policy; what a gateway counted is its visitors' equal share."""
    chance, rows = random.Random(1), []
    for block in track(range(blocks), 'visiting', console=Console(stderr=True), transient=True):
        prompts = [brochure(tokens, 2 * block + each) for each in range(2)]
        for policy in chance.sample(POLICIES, len(POLICIES)):
            emptied(fleet.urls, SLOTS)
            with fleet.gateway(policy, **PATIENT) as gateway:
                heard = anyio.run(visits, gateway.url, prompts, chance)
                counted = figures(gateway.url, *COUNTED)
            for each, (first, second) in enumerate(heard):
                rows.append({
                    'policy': policy, 'seed': 0, 'index': 2 * block + each, 'first': first.ttfet,
                    'second': second.ttfet, 'prompt': first.prompt, 'append': second.prompt - first.prompt,
                    'answered': first.outcome == second.outcome == ANSWERED,
                    **{name: value / len(heard) for name, value in counted.items()},
                })
    return pd.DataFrame(rows)


def waits_table(frame: pd.DataFrame) -> tuple[Table, float]:
    """All policies against pinned, and the ratio of round robin."""
    table = Table('policy', 'visits', 'first prompt', 'appended', 'read a visit', 'moved (failed)', 'TTFET 1, p50',
                  'TTFET 2, p50', 'worst', 'TTFET 2 over pinned', title='second turns, pinned and not')
    pinned, reached = frame[frame.policy == 'pinned'], 0.0
    for policy in POLICIES:
        own = frame[frame.policy == policy]
        ratio = percentile_ratio(own, pinned, 'second', 50).ratio
        reached = ratio.estimate if policy == 'round-robin' else reached
        table.add_row(policy, str(len(own)), f'{own.prompt.median():.0f}', f'{own.append.median():.0f}',
                      f'{own.read.mean():.0f}', f'{own.handed_over.sum():.0f} ({own.hand_overs_failed.sum():.0f})',
                      f'{own["first"].median():.2f} s', f'{own.second.median():.3f} s',
                      f'{own.second.max():.3f} s', '1' if policy == 'pinned' else ratio.shown(1))
    return table, reached


def exactness(fleet: LiveFleet, base_url: str, number: int) -> dict[str, Any]:
    """One prompt answered after a hand-over, by the same slot asked again, by the prefiller, and read afresh."""
    prefiller, decoder = fleet.urls['prefill-1'], fleet.urls['decode-1']
    emptied(fleet.urls, SLOTS)
    messages = [{'role': 'system', 'content': brochure(EXACT_TOKENS, 900 + number)},
                {'role': 'user', 'content': OPENER}]
    with httpx.Client(timeout=120.0, trust_env=False) as http:
        through = http.post(f'{base_url}/chat/completions', headers={'x-session-id': f'exact-{number}'}, json={
            'messages': messages, 'temperature': 0.0, 'max_tokens': EXACT_ANSWER}).raise_for_status().json()
        [home] = http.get(f'{base_url}/conversations').json()['conversations']
        again = told(fleet.urls[home['replica']], home['slot'], messages, EXACT_ANSWER)
        http.delete(f'{base_url}/conversations/exact-{number}')
    gateway = Told(through['choices'][0]['message']['content'], (), 0)
    told(prefiller, 1, messages, 1)
    slot_call(prefiller, 1, 'save', 'exact')
    slot_call(decoder, 2, 'restore', 'exact')
    (fleet.slot_dir / 'exact').unlink()
    moved = told(decoder, 2, messages, EXACT_ANSWER)
    return {
        'gateway, moved / same slot again': (gateway, again),
        'moved / same slot again': (moved, told(decoder, 2, messages, EXACT_ANSWER)),
        "moved / the prefiller's own slot": (moved, told(prefiller, 1, messages, EXACT_ANSWER)),
        'moved / read afresh on the decoder': (moved, told(decoder, 3, messages, EXACT_ANSWER)),
    }


def exactness_table(fleet: LiveFleet, base_url: str) -> tuple[Table, int]:
    """The comparisons over some prompts, and how many texts differ that must not."""
    found = [exactness(fleet, base_url, each) for each in range(EXACT_PROMPTS)]
    table, wrong = Table('compared', 'prompt tokens read', 'same text', 'largest difference of a log-probability',
                         title='answers at temperature 0'), 0
    for name in found[0]:
        couples = [each[name] for each in found]
        same = sum(one.text == other.text for one, other in couples)
        wrong += len(couples) - same if 'afresh' not in name else 0
        furthest = max(one.furthest(other) for one, other in couples)
        reads = sorted({other.read for _, other in couples})
        table.add_row(name, f'{reads[0]}' if len(reads) == 1 else f'{reads[0]}–{reads[-1]}',
                      f'{same} of {len(couples)}', f'{furthest:.3g}' if couples[0][0].logprobs else 'text alone')
    return table, wrong


def campaign(blocks: int, tokens: int) -> int:
    """Start everything, measure, print."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        fleet = stack.enter_context(live_fleet(folder, one_prefiller_two_decoders(slots=SLOTS)))
        frame = measured(fleet, blocks, tokens)
        table, reached = waits_table(frame)
        pinned = stack.enter_context(fleet.gateway('pinned', **PATIENT))
        exact, wrong = exactness_table(fleet, pinned.url)
    console = Console(width=140)
    console.print(table)
    console.print(exact)
    print('Exact by construction: the moved cache and the slot asked again both read one token of the prompt. Read'
          ' afresh, the prompt goes through in batches, and floating-point sums are rounded elsewhere: texts may part.')
    lost = int((~frame.answered).sum())
    print(f'{lost} visitors not answered, {wrong} texts that differ and must not, '
          f'round robin over pinned {reached:.1f} (goal {GOAL:.0f})')
    return int(bool(lost or wrong) or reached < GOAL)


def main() -> int:
    """Run and print."""
    blocks, tokens = [int(each) for each in sys.argv[1:]] + [BLOCKS, TOKENS][len(sys.argv) - 1:]
    return refusing('serving_pinning', lambda: campaign(blocks, tokens))


if __name__ == '__main__':
    sys.exit(main())
