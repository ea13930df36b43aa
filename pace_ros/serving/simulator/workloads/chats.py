"""A chat service as it was logged: the conversations in Mooncake's trace."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pace_ros.serving.simulator.script import Script, TurnScript, Workload, WorkloadError
from pace_ros.serving.simulator.workloads.agent import lines

BLOCK = 512  # tokens that one hash of Mooncake's stands for
OPENING = 2  # blocks: the first one is the same in every request, and makes no conversation


def read_mooncake(path: Path, *, longest: int | None = None) -> Workload:
    """Requests of which one repeats all whole blocks of another's prompt are a conversation; who repeats what is
    continued already begins a new one. The think time is the time between two requests: what the answer took is not in
    the trace, so that it is an upper bound. A conversation ends before a turn of more than ``longest`` tokens.

    Raises WorkloadError that names file, line and field.
    """
    chains = _Chains()
    for number, line in enumerate(lines(path), start=1):
        if not line.strip():
            continue
        try:
            chains.add(_request(json.loads(line)))
        except KeyError as error:
            raise WorkloadError(f'{path}, line {number}: there is no field {error}.') from None
        except (ValueError, TypeError, AttributeError) as error:
            raise WorkloadError(f'{path}, line {number}: {error}') from None
    return Workload('mooncake', _scripts(path, chains.all, longest))


@dataclass(frozen=True)
class _Request:
    at: float
    prompt: int
    answer: int
    blocks: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.prompt < 1 or self.answer < 1:
            raise ValueError(f'a prompt of {self.prompt} and an answer of {self.answer} tokens are no turn')

    @property
    def whole(self) -> tuple[int, ...]:
        """The blocks that it fills, which a later one can repeat."""
        return self.blocks[: self.prompt // BLOCK]


@dataclass
class _Chains:
    """Conversations, and by its whole blocks the one that a request may continue."""

    all: list[list[_Request]] = field(default_factory=list)
    _open: dict[tuple[int, ...], list[_Request]] = field(default_factory=dict)

    def add(self, request: _Request) -> None:
        chain: list[_Request] | None = None
        for count in range(len(request.blocks), OPENING - 1, -1):
            chain = self._open.pop(request.blocks[:count], None)
            if chain is not None:
                break
        else:
            chain = []
            self.all.append(chain)
        chain.append(request)
        if len(request.whole) >= OPENING:
            self._open[request.whole] = chain


def _request(record: Mapping[str, Any]) -> _Request:
    return _Request(float(record['timestamp']) / 1000.0, int(record['input_length']),
                    max(1, int(record['output_length'])), tuple(record['hash_ids']))


def _scripts(path: Path, chains: Sequence[Sequence[_Request]], longest: int | None) -> tuple[tuple[float, Script], ...]:
    found = []
    for number, chain in enumerate(chains, start=1):
        turns: list[TurnScript] = []
        for before, each in zip((None, *chain), chain, strict=False):
            if longest is not None and each.prompt + each.answer > longest:
                break
            shared = 0 if before is None else min(len(before.whole) * BLOCK, each.prompt)
            think = 0.0 if before is None else max(0.0, each.at - before.at)
            turns.append(TurnScript(each.prompt, each.answer, shared=shared, think=think))
        if turns:
            found.append((chain[0].at, Script(f'{path.stem}-{number}', tuple(turns), family=path.stem, opening=BLOCK)))
    if not found:
        raise WorkloadError(f'{path}: holds no request of at most {longest} tokens.')
    found.sort(key=lambda each: each[0])
    return tuple((at - found[0][0], script) for at, script in found)
