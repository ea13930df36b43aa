"""A whole assembly for tests: everything but the encoder, the cloud and the loudspeaker as the node opens it."""
from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from harness import Ledger, until
from support import ScriptedCloud

from pace_ros.assembly import Assembly
from pace_ros.clock import SystemClock
from pace_ros.config import Config
from pace_ros.embodiment import LocalSpeaker, Pyttsx3Synthesizer
from pace_ros.embodiment.sink import NullSink
from pace_ros.live_turn import LiveTurn
from pace_ros.settings import with_values
from pace_ros.turn import Utterance


def configured(tmp_path: Path, cloud: ScriptedCloud | None = None, **others: object) -> Config:
    """A configuration whose files are all under ``tmp_path``; ``l0__file`` stands for l0.file."""
    values = {
        'data_dir': str(tmp_path / 'data'), 'l1.knowledge': [str(tmp_path / 'knowledge.yaml')], 'locale': 'en-US',
        'filler.generator': False, 'speech.enabled': False, 'l2.retries': 0,
        'l2.base_url': cloud.base_url if cloud else '',
        **{name.replace('__', '.'): value for name, value in others.items()},
    }
    return with_values(Config(), values)


def speaker() -> LocalSpeaker:
    """The real synthesiser, into silence."""
    return LocalSpeaker(Pyttsx3Synthesizer(190), NullSink())


@contextlib.asynccontextmanager
async def assembled(config: Config) -> AsyncIterator[tuple[Assembly, Ledger]]:
    """An assembly and what it publishes, closed at the end."""
    outlet = Ledger()
    whole = Assembly(lambda: config, SystemClock(), outlet=outlet, speaker=speaker())
    try:
        yield whole, outlet
    finally:
        await whole.aclose()


async def ask(whole: Assembly, text: str) -> LiveTurn:
    """One question, answered to the end and admitted or not."""
    turn = whole.dialogue.submit(Utterance(text, SystemClock().monotonic()))
    await until(lambda: turn.silent)
    return turn
