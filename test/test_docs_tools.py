"""The example in docs/tools.md runs as it stands."""
from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from harness import KNOWLEDGE
from tool_cloud import shop

from pace_ros.embedding import Embedder

DOCS = Path(__file__).resolve().parents[1] / 'docs' / 'tools.md'


@pytest.mark.anyio
async def test_the_example_prints_what_it_says(
    tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = DOCS.read_text(encoding='utf-8')
    declared, program = (re.search(rf'```{kind}\n(.*?)```', text, re.DOTALL).group(1) for kind in ('yaml', 'python'))
    async with shop() as market:
        market.pages['GET /lark.json'] = (200, {'price': {'amount': '12,400 euros'}}, None)
        (tmp_path / 'tools.yaml').write_text(declared.replace('http://127.0.0.1:8099', market.url))
        (tmp_path / 'knowledge').mkdir()
        (tmp_path / 'knowledge' / 'small.yaml').write_text(KNOWLEDGE, encoding='utf-8')  # the packaged one takes longer
        monkeypatch.setattr('pace_ros.packaged.config_dir', lambda: tmp_path)
        monkeypatch.setattr('pace_ros.embedding.open_embedder', lambda _settings: embedder)
        monkeypatch.chdir(tmp_path)
        await asyncio.to_thread(exec, compile(program, 'tools.md', 'exec'), {'__name__': 'tools'})
    assert capsys.readouterr().out.splitlines() == [
        '12,400 euros', "Error: argument 'model': 'crow' is not one of ['lark', 'owl']."
    ]
