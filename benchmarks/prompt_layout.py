"""How much of a visit's prompt a server finds in its cache, turn by turn, under both settings of ``l2.layout``.

    scripts/campaign.sh prompt_layout

Three showroom visits of six turns on one slot of a real ``l2_replica`` with the packaged model; the robot's own
prompts, knowledge and encoder, four passages a turn, ``l2.history_turns`` 4. Means of prompt tokens, those found in the
slot, and those read; exact counts of the server, only the time depends on the machine.
"""
from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pandas as pd
from rich.console import Console
from rich.table import Table

from pace_ros import packaged
from pace_ros.clock import SystemClock
from pace_ros.config_levels import L1, L2, Embedding
from pace_ros.conversation import Conversation
from pace_ros.embedding import Embedder, open_embedder
from pace_ros.llm import PromptBook
from pace_ros.llm.history import reminded
from pace_ros.llm.prompt import new_passages
from pace_ros.retrieval import KnowledgeBase
from pace_ros.serving.replica_process import ReplicaProcess

VISITS = (
    ('How far does the Orvane One go on one charge?', 'How long does charging take?', 'And what does it cost?',
     'Which colours are there?', 'Do you offer leasing?', 'Is there a warranty on the battery?'),
    ('Can I book a test drive?', 'What about financing?', 'How big is the boot?', 'Does it have a heat pump?',
     'When could I get one?', 'Where is the next service centre?'),
    ('Which models do you have?', 'Which one is good for a family?', 'How safe is it?', 'What is the range in winter?',
     'Can I tow a trailer?', 'Thank you, what should I do next?'),
)
LAYOUTS = ('front', 'append')
START, ANSWER = 60.0, 120.0  # s


class Asking:
    """One visitor after the other, on one slot that is emptied between them."""

    def __init__(self, http: httpx.AsyncClient, layout: str, embedder: Embedder, knowledge: KnowledgeBase) -> None:
        self._http = http
        self._layout = layout
        self._embedder = embedder
        self._knowledge = knowledge
        self._book = PromptBook.read(packaged.config_dir() / 'persona.yaml')

    async def visit(self, questions: tuple[str, ...]) -> list[dict[str, Any]]:
        """A row a turn."""
        await self._http.post('/slots/0?action=erase')
        conversation = Conversation('visit', 0.0)
        return [await self._turn(conversation, number, question) for number, question in enumerate(questions, 1)]

    async def _turn(self, conversation: Conversation, number: int, question: str) -> dict[str, Any]:
        append, settings = self._layout == 'append', L2()
        seen = reminded(conversation.history, settings.history_turns, in_blocks=append)
        near = self._knowledge.search(self._embedder.embed(question), L1().top_k)
        passages = [hit for hit in near if hit.score >= L1().passage_floor]
        messages = self._book.messages(
            question, 'en-US', passages=passages, history=seen, persona=True, layout=self._layout
        )
        asked = {'messages': messages, 'id_slot': 0, 'cache_prompt': True, 'max_tokens': 40, 'temperature': 0}
        answer = (await self._http.post('/v1/chat/completions', json=asked)).raise_for_status().json()
        conversation.remember(
            question, answer['choices'][0]['message']['content'], asked=messages[-1]['content'],
            entries=tuple(hit.entry for hit in new_passages(passages, seen)) if append else (),
        )
        timings = answer['timings']
        return {'layout': self._layout, 'turn': number, 'prompt': answer['usage']['prompt_tokens'],
                'cached': timings['cache_n'], 'read': timings['prompt_n'], 's': timings['prompt_ms'] / 1e3}


async def measured(base_url: str) -> pd.DataFrame:
    """Both layouts, visit by visit."""
    embedder = open_embedder(Embedding())
    knowledge = KnowledgeBase([packaged.config_dir() / 'knowledge'], embedder, SystemClock())
    rows = []
    async with httpx.AsyncClient(base_url=base_url, timeout=ANSWER, trust_env=False) as http:
        for visit in VISITS:
            for layout in LAYOUTS:  # side by side
                rows += await Asking(http, layout, embedder, knowledge).visit(visit)
    return pd.DataFrame(rows)


def main() -> None:
    """Measure and show."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        words = ['--slots', '1', '--context', '4096', '--threads', '1', '--slot-dir', str(folder)]
        replica = ReplicaProcess('replica', words, folder)
        try:
            rows = asyncio.run(measured(replica.url(START)))
        finally:
            replica.end()
    means = rows.groupby(['turn', 'layout']).mean().unstack()
    table = Table('turn', *(f'{layout}: {name}' for layout in LAYOUTS for name in ('prompt', 'cached', 'read', 's')))
    for turn, line in means.iterrows():
        cells = [(line[name, layout], name) for layout in LAYOUTS for name in ('prompt', 'cached', 'read', 's')]
        table.add_row(str(turn), *(f'{value:.2f}' if name == 's' else f'{value:.0f}' for value, name in cells))
    Console(width=120).print(table)


if __name__ == '__main__':
    main()
