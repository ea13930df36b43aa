"""A fleet of real replicas on this machine's cores, and gateways in front of it."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pace_ros.study.live_serving.server import Server, free_ports


@dataclass(frozen=True)
class Member:
    """A replica to be: its ``role``, its ``core`` among those of this machine, and how it reads; ``kv``: tokens of
    cache that its slots share, 0 where each has its own.
    """

    name: str
    role: str
    core: int
    slots: int = 4
    context: int = 2048
    batch: int = 512
    kv: int = 0


@dataclass
class LiveFleet:
    """Replicas by name, all of one slot folder; ``gateway`` puts a door in front of them."""

    folder: Path
    members: Sequence[Member]
    replicas: dict[str, Server] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)

    @property
    def slot_dir(self) -> Path:
        """Where slot files are, for as long as a hand-over takes."""
        return self.folder / 'slots'

    def start(self) -> None:
        """Start all replicas side by side. Raises ServerAbsent."""
        self.slot_dir.mkdir(mode=0o700, exist_ok=True)
        cores = sorted(os.sched_getaffinity(0))
        for each, port in zip(self.members, free_ports(len(self.members)), strict=True):
            self.replicas[each.name] = Server(each.name, 'pace_ros.serving.l2_replica', [
                '--port', str(port), '--slots', str(each.slots), '--context', str(each.context), '--batch',
                str(each.batch), '--kv', str(each.kv), '--cores', str(cores[each.core % len(cores)]),
                '--slot-dir', str(self.slot_dir), '--with-stdin',
            ], self.folder)
            self.replicas[each.name].start()
        for name, server in self.replicas.items():
            self.urls[name] = server.wait()

    def stop(self) -> None:
        """End them all."""
        for each in self.replicas.values():
            each.stop()

    @contextlib.contextmanager
    def gateway(self, policy: str, **settings: Any) -> Iterator[Server]:
        """A gateway over all replicas, for the while; ``settings`` go into its fleet file. Raises ServerAbsent."""
        file = self.folder / f'{policy}.yaml'
        file.write_text(yaml.safe_dump(self.described(policy, settings)))
        server = Server(f'gateway-{policy}', 'pace_ros.serving.l2_gateway', [str(file), '--port', '0'], self.folder)
        server.start()
        try:
            server.wait()
            yield server
        finally:
            server.stop()

    def described(self, policy: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The content of a fleet file."""
        replicas = [
            {'name': each.name, 'url': self.urls[each.name], 'role': each.role, 'slots': each.slots,
             'context': each.context, 'kv': each.kv} for each in self.members
        ]
        return {'replicas': replicas, 'policy': policy, 'slot_dir': str(self.slot_dir), **settings}


@contextlib.contextmanager
def live_fleet(folder: Path, members: Sequence[Member]) -> Iterator[LiveFleet]:
    """The fleet for the while. Raises ServerAbsent."""
    fleet = LiveFleet(folder, members)
    try:
        fleet.start()
        yield fleet
    finally:
        fleet.stop()


def one_prefiller_two_decoders(**options: Any) -> list[Member]:
    """A fleet on two cores: reading has a core of its own, the decoders share the other one."""
    return [Member('prefill-1', 'prefill', 0, **options), Member('decode-1', 'decode', 1, **options),
            Member('decode-2', 'decode', 1, **options)]
