"""A house whose language model may call tools: a shop's price service and the robot's own knowledge."""
from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path as FilePath

import yaml
from harness import House, open_house
from support import ScriptedCloud
from tool_cloud import Shop, calls_as_openai, shop

from pace_ros.embedding import Embedder
from pace_ros.embodiment import Voice
from pace_ros.llm.tools.opening import open_tools
from pace_ros.llm.tools.rounds import ToolRounds

PRICE = calls_as_openai(('c1', 'price', '{"model": "Lark"}'))
SAID = calls_as_openai(('c1', 'price', '{"model": "Lark"}'), said='Let me see.')
SEARCH = calls_as_openai(('c1', 'search', '{"query": "Where do I find the toilets?"}'))


def declared(market: Shop, **more: object) -> dict[str, object]:
    """The file that declares them; ``more`` is of the price."""
    schema = {'type': 'object', 'properties': {'model': {'type': 'string'}}, 'required': ['model']}
    return {'tools': [
        {'name': 'price', 'kind': 'http', 'description': 'The price of a model.', 'parameters': schema,
         'url': f'{market.url}/{{model}}', 'answer': 'price', **more},
        {'name': 'search', 'kind': 'knowledge', 'description': 'Search what the showroom knows.'},
    ]}


@contextlib.asynccontextmanager
async def tool_house(
    tmp_path: FilePath, embedder: Embedder, cloud: ScriptedCloud, *, tool: dict[str, object] | None = None,
    voice: Voice | None = None, **settings: object,
) -> AsyncIterator[tuple[House, Shop]]:
    """Such a house and its shop; ``tool`` is more of the price's declaration."""
    async with shop() as market, open_house(
        tmp_path, embedder, cloud, {**settings, 'speech.enabled': voice is not None}, voice=voice
    ) as house:
        market.pages['GET /Lark'] = (200, {'price': 'It costs 12,000.'}, None)
        file = tmp_path / 'tools.yaml'
        file.write_text(yaml.safe_dump(declared(market, **(tool or {}))))
        levels = house.levels
        box = open_tools(file, {}, embedder=embedder, knowledge=levels.knowledge, clock=house.clock)
        levels.tools = ToolRounds(levels.llm, box, lambda: house.config.l2, levels.ledger, house.clock)
        try:
            yield house, market
        finally:
            await house.dialogue.aclose()
            await levels.tools.aclose()
