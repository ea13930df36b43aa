"""What one llama.cpp server takes: to read, to read on, to take a step, to save and to restore a slot."""
from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from types import TracebackType
from typing import Any

import httpx

from pace_ros.study.refusal import Refusal

READ, STEP, SAVE, RESTORE = 'read', 'step', 'save', 'restore'
KINDS = (READ, STEP, SAVE, RESTORE)
PATIENCE = 120.0  # s for any call
_TOKENS = (1000, 20_000)  # ordinary pieces of words in the vocabularies of small models
_FILE = 'probe.kv'


class ProbeError(Refusal):
    """A server that cannot be measured; the message says what it answered."""


@dataclass(frozen=True)
class Probed:
    """One measurement: ``tokens`` read (or saved, restored) at ``depth`` tokens of context, or a step of ``batch``
    streams that have ``depth`` tokens of context each; ``seconds``, and bytes written where there are.
    """

    kind: str
    tokens: int
    depth: int
    batch: int
    seconds: float
    size: int = 0


class Prober:
    """Measures one server through its native interface, with prompts of exact length. Close it, or use ``with``."""

    def __init__(self, url: str, *, seed: int = 0, key: str = '', transport: httpx.BaseTransport | None = None) -> None:
        self._http = httpx.Client(
            base_url=url, timeout=PATIENCE, transport=transport, trust_env=False,
            headers={'Authorization': f'Bearer {key}'} if key else {},
            limits=httpx.Limits(max_keepalive_connections=0),  # these servers close idle connections
        )
        self._chance = random.Random(seed)  # noqa: S311  prompts, not secrets

    def __enter__(self) -> Prober:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def read(self, tokens: int, depth: int) -> Probed:
        """Read so many new tokens behind ``depth`` that are in the slot. Raises ProbeError."""
        before = self._prompt(depth)
        self.erase(0)
        if depth:
            self._complete(before, 0, slot=0)
        timings = self._complete([*before, *self._prompt(tokens)], 0, slot=0)
        read = int(timings['prompt_n'])
        if abs(read - tokens) > 1:
            raise ProbeError(f'The server read {read} tokens where {tokens} were new: its slots do not keep prompts.')
        return Probed(READ, read, depth, 0, timings['prompt_ms'] / 1000)

    def step(self, slots: Sequence[int], depth: int, *, steps: int = 24) -> Probed:
        """A step of the streams in these slots at about ``depth`` tokens of context each. Raises ProbeError."""
        prompts = {slot: self.fill(slot, max(2, depth - steps // 2)) for slot in slots}
        with ThreadPoolExecutor(len(slots)) as pool:
            answers = list(pool.map(lambda each: self._complete(each[1], steps, slot=each[0]), prompts.items()))
        took = median(each['predicted_ms'] / (each['predicted_n'] - 1) for each in answers)  # from the first token on
        return Probed(STEP, 0, depth, len(slots), took / 1000)

    def fill(self, slot: int, tokens: int) -> list[int]:
        """So many new tokens are in the slot, which is the prompt that it returns. Raises ProbeError."""
        prompt = self._prompt(tokens)
        self._complete(prompt, 0, slot=slot)
        return prompt

    def hand_over(self, tokens: int) -> list[Probed]:
        """Save a slot of so many tokens and restore it into another one; times of whole calls. Raises ProbeError."""
        self.erase(0)
        self.fill(0, tokens)
        saved, saving = self._timed('/slots/0?action=save', {'filename': _FILE})
        restored, restoring = self._timed('/slots/1?action=restore', {'filename': _FILE})
        self.erase(1)
        return [Probed(SAVE, int(saved['n_saved']), 0, 0, saving, int(saved['n_written'])),
                Probed(RESTORE, int(restored['n_restored']), 0, 0, restoring, int(restored['n_read']))]

    def erase(self, slot: int) -> None:
        """Nothing is in the slot any more. Raises ProbeError."""
        self._call(f'/slots/{slot}?action=erase', {})

    def _prompt(self, tokens: int) -> list[int]:
        return [self._chance.randrange(*_TOKENS) for _ in range(tokens)]

    def _complete(self, prompt: list[int], steps: int, *, slot: int) -> Mapping[str, float]:
        asked = {'prompt': prompt, 'n_predict': steps, 'id_slot': slot, 'cache_prompt': True, 'ignore_eos': True}
        timings: Mapping[str, float] = self._call('/completion', asked)['timings']
        return timings

    def _timed(self, path: str, asked: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        begun = time.perf_counter()
        answer = self._call(path, asked)
        return answer, time.perf_counter() - begun

    def _call(self, path: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        url = self._http.base_url.join(path)
        try:
            response = self._http.post(path, json=dict(asked))
        except httpx.HTTPError as error:
            raise ProbeError(f'{url}: {type(error).__name__}: {error}'.rstrip(': ')) from error
        if response.status_code != httpx.codes.OK:
            raise ProbeError(f'{url}: HTTP {response.status_code}: {response.text[:200]}')
        answer: dict[str, Any] = response.json()
        return answer
