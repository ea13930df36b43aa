"""A gateway in front of simulated replicas, for tests."""
from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from pace_ros.clock import Clock, VirtualClock
from pace_ros.serving.app import make_app
from pace_ros.serving.fleet import Fleet, Replica, fleet_of
from pace_ros.serving.gateway import Gateway
from pace_ros.serving.keeper import Keeper
from pace_ros.serving.replica_client import ReplicaClient
from pace_ros.serving.simulated_replica import SimulatedReplica
from pace_ros.serving.usage import Chunk

ROLES: Mapping[str, str] = {'p': 'prefill', 'd1': 'decode', 'd2': 'decode'}
SHORT = {'connect': 0.05, 'tokenize': 0.06, 'next_token': 0.1, 'hand_over': 0.14, 'prefill': 0.2, 'first_token': 0.3}
SLOTS, CONTEXT = 2, 256


class SimulatedFleet:
    """One prefiller and two decoders, unless told otherwise; ``settings``: nested, as in a fleet file."""

    def __init__(
        self, folder: Path, settings: Mapping[str, Any] | None = None, *, roles: Mapping[str, str] = ROLES,
        clock: Clock | None = None, hands_over: bool = True, slots: int = SLOTS, kv: int = 0, api_key: str = '',
    ) -> None:
        self.folder = folder / 'slots'
        self.clock = clock or VirtualClock()
        self.replicas = {
            name: SimulatedReplica(slots=slots, context=CONTEXT, folder=self.folder, api_key=api_key) for name in roles
        }
        self.fleet = _fleet(roles, {'slots': slots, 'context': CONTEXT, 'kv': kv}, {
            'admission': {'wait': 0.0}, **({'slot_dir': str(self.folder)} if hands_over else {}), **(settings or {}),
            'deadlines': {**SHORT, **(settings or {}).get('deadlines', {})},
        })
        self.gateway = Gateway(self.fleet, [self._client(each, api_key) for each in self.fleet.replicas], self.clock)
        if self.gateway.files is not None:
            self.gateway.files.prepare()
        self.keeper = Keeper(self.gateway)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(make_app(self.gateway)), base_url='http://localhost')

    def __getitem__(self, name: str) -> SimulatedReplica:
        return self.replicas[name]

    async def ask(self, key: str, *words: str, **fields: Any) -> str:
        """What a conversation is answered after these turns: questions and answers by turns."""
        return said([chunk async for chunk in self.chunks(key, *words, **fields)])

    async def chunks(self, key: str, *words: str, **fields: Any) -> AsyncIterator[Chunk]:
        """The same, as it comes."""
        async with contextlib.aclosing(self.gateway.answer(key, body(*words, **fields))) as chunks:
            async for chunk in chunks:
                yield chunk

    def home(self, key: str) -> str | None:
        """Where it lives."""
        conversation = self.gateway.conversations.get(key)
        return conversation.home.replica if conversation is not None and conversation.home is not None else None

    def calls(self, name: str, call: str) -> int:
        """How often a replica was asked so."""
        return [each for each, _ in self.replicas[name].seen].count(call)

    def files(self) -> list[str]:
        """What is in the slot folder."""
        return sorted(each.name for each in self.folder.iterdir())

    def check(self) -> None:
        """Nothing is under way, each account is a conversation's home and holds what its slot holds."""
        ledger = self.gateway.ledger
        homes = [each.home for each in self.gateway.conversations if each.home is not None]
        assert sorted(map(id, homes)) == sorted(map(id, ledger.accounts()))
        for account in ledger.accounts():
            assert account.reserved == 0
            assert account.held == len(self.replicas[account.replica].slots[account.slot].held or ()), account
        assert [each.under_way for each in self.gateway.conversations if each.under_way] == []
        assert {(each.waiting, each.streams) for each in self.gateway.states.values()} == {(0, 0)}
        assert self.files() == []

    def _client(self, replica: Replica, api_key: str) -> ReplicaClient:
        return ReplicaClient(replica, self.fleet.settings.deadlines, self.clock, api_key=api_key,
                             transport=self.replicas[replica.name])


def _fleet(roles: Mapping[str, str], size: Mapping[str, int], settings: Mapping[str, Any]) -> Fleet:
    replicas = [{'name': name, 'url': f'http://{name}.simulated', 'role': role, **size} for name, role in roles.items()]
    return fleet_of({'replicas': replicas, **settings})


def messages(*words: str) -> list[dict[str, str]]:
    """A conversation: questions and answers by turns."""
    return [{'role': 'assistant' if at % 2 else 'user', 'content': each} for at, each in enumerate(words)]


def body(*words: str, **fields: Any) -> dict[str, Any]:
    """What a replica is sent for it."""
    return {'messages': messages(*words), 'max_tokens': 20, **fields}


def said(chunks: Sequence[Chunk]) -> str:
    """The words of an answer."""
    deltas = [choice['delta'] for chunk in chunks for choice in chunk['choices']]
    return ''.join(delta.get('content') or '' for delta in deltas).strip()
