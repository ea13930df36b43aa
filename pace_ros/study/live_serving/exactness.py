"""Whether an answer is the same after a hand-over, down to the log-probabilities of its tokens."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

PATIENCE = 120.0  # s


@dataclass(frozen=True)
class Told:
    """An answer at temperature 0, the log-probability of each of its tokens, and how many prompt tokens were read."""

    text: str
    logprobs: tuple[float, ...]
    read: int

    def furthest(self, other: Told) -> float:
        """The largest difference of two log-probabilities, as far as the answers say the same; 0: bit by bit."""
        return max((abs(one - two) for one, two in zip(self.logprobs, other.logprobs, strict=False)), default=0.0)


def told(replica: str, slot: int, messages: Sequence[Mapping[str, Any]], tokens: int) -> Told:
    """Ask one slot of a replica directly. Raises httpx.HTTPError."""
    response = httpx.post(f'{replica}/v1/chat/completions', timeout=PATIENCE, trust_env=False, json={
        'messages': list(messages), 'id_slot': slot, 'cache_prompt': True, 'temperature': 0.0, 'max_tokens': tokens,
        'logprobs': True, 'top_logprobs': 1,
    })
    return told_of(response.raise_for_status().json())


def told_of(answer: Mapping[str, Any]) -> Told:
    """What a ``chat.completion`` of llama.cpp says."""
    choice = answer['choices'][0]
    pieces = (choice.get('logprobs') or {}).get('content') or ()
    return Told(str(choice['message'].get('content') or ''), tuple(float(each['logprob']) for each in pieces),
                int(answer['timings']['prompt_n']))


def slot_call(replica: str, slot: int, action: str, file: str = '') -> dict[str, Any]:
    """Save, restore or erase a slot directly. Raises httpx.HTTPError."""
    response = httpx.post(f'{replica}/slots/{slot}?action={action}', timeout=PATIENCE, trust_env=False,
                          json={'filename': file} if file else {})
    content: dict[str, Any] = response.raise_for_status().json()
    return content


def emptied(replicas: Mapping[str, str], slots: int) -> None:
    """Erase every slot of every replica, so that nothing is found of an earlier run. Raises httpx.HTTPError."""
    for url in replicas.values():
        for slot in range(slots):
            slot_call(url, slot, 'erase')
