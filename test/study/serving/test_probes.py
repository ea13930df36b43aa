"""What a server says of its times, from a server that says it as llama.cpp does."""
from __future__ import annotations

import json

import httpx
import pytest

from pace_ros.study.serving.measurements import COLUMNS, Settings, measured
from pace_ros.study.serving.probes import READ, RESTORE, SAVE, STEP, ProbeError, Prober


class Server:
    """Keeps prompts by slot, and answers with 10 ms a token read and 20 ms a step; the first token comes with the
    last one read.
    """

    def __init__(self, *, forgets: bool = False) -> None:
        self.slots: dict[int, list[int]] = {}
        self.forgets = forgets

    def __call__(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        if request.url.path != '/completion':
            return self._slot(int(request.url.path.rpartition('/')[2]), request.url.params['action'])
        slot, prompt = asked['id_slot'], asked['prompt']
        kept = 0 if self.forgets else len(self.slots.get(slot, []))
        cached = min(kept, len(prompt) - 1) if prompt[:kept] == self.slots.get(slot, [])[:kept] else 0
        self.slots[slot] = prompt
        read, steps = len(prompt) - cached, max(1, asked['n_predict'])
        return httpx.Response(200, json={'timings': {
            'cache_n': cached, 'prompt_n': read, 'prompt_ms': 10.0 * read, 'predicted_n': steps,
            'predicted_ms': 20.0 * (steps - 1)}})

    def _slot(self, slot: int, action: str) -> httpx.Response:
        tokens = len(self.slots.get(0, []))
        if action == 'erase':
            self.slots.pop(slot, None)
        return httpx.Response(200, json={'n_saved': tokens, 'n_written': 100 * tokens, 'n_restored': tokens,
                                         'n_read': 100 * tokens})


def prober(server: Server) -> Prober:
    return Prober('http://replica', transport=httpx.MockTransport(server))


def test_reading_behind_a_cached_prompt_counts_the_new_tokens_alone() -> None:
    with prober(Server()) as probe:
        found = probe.read(40, 100)
        assert (found.kind, found.tokens, found.depth) == (READ, 40, 100)
        assert found.seconds == pytest.approx(0.4)
        assert probe.read(32, 0).seconds == pytest.approx(0.32)


def test_a_step_is_the_time_of_a_token_of_each_stream() -> None:
    with prober(Server()) as probe:
        found = probe.step(range(3), 200)
    assert (found.kind, found.batch, found.depth) == (STEP, 3, 200)
    assert found.seconds == pytest.approx(0.02)


def test_a_hand_over_is_saved_and_restored() -> None:
    with prober(Server()) as probe:
        saved, restored = probe.hand_over(64)
    assert (saved.kind, saved.tokens, saved.size) == (SAVE, 64, 6400)
    assert (restored.kind, restored.tokens) == (RESTORE, 64)


def test_a_server_that_keeps_no_prompt_cannot_be_measured() -> None:
    with prober(Server(forgets=True)) as probe, pytest.raises(ProbeError, match='its slots do not keep prompts'):
        probe.read(40, 100)


def test_an_error_of_the_server_is_named() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(501, text='no slots here'))
    with Prober('http://replica', transport=transport) as probe, \
            pytest.raises(ProbeError, match='HTTP 501: no slots here'):
        probe.read(8, 0)


def test_every_setting_is_measured_as_often_as_asked() -> None:
    settings = Settings(reads=(8, 16), appends=(4,), depths=(32,), batches=(1, 2), contexts=(16,), moved=(8,),
                        repeats=2)
    seen: list[tuple[int, int]] = []
    with prober(Server()) as probe:
        rows = measured(probe, settings, lambda done, total: seen.append((done, total)))
    assert tuple(rows.columns) == COLUMNS
    assert rows['kind'].value_counts().to_dict() == {READ: 6, STEP: 4, SAVE: 2, RESTORE: 2}
    assert seen[-1] == (settings.count(), settings.count()) == (12, 12)
    assert settings.context >= 36
    assert settings.slots == 2
