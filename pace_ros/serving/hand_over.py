"""A KV cache goes from one replica to another through a file that nobody else may see, and is deleted at once."""
from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from pace_ros.serving.replica_client import ReplicaClient
from pace_ros.serving.replica_errors import ReplicaError

PREFIX = 'kv-'


class HandOverFailed(RuntimeError):
    """The cache was not moved; the message says why. ``source`` and ``target``: who is to blame, if anyone."""

    def __init__(self, message: str, *, source: ReplicaError | None = None, target: ReplicaError | None = None) -> None:
        super().__init__(message)
        self.source = source
        self.target = target


class SlotFiles:
    """The folder that the replicas share. Its names are random: no client's word is in them."""

    def __init__(self, folder: Path, *, largest: int) -> None:
        self._folder = folder
        self._largest = largest
        self._moving: set[str] = set()

    def prepare(self) -> None:
        """Make the folder, private, and delete what an earlier life left there. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder.chmod(stat.S_IRWXU)
        self.sweep()

    def sweep(self) -> None:
        """Delete what is not being moved: a server may write a file after nobody waits for it. Raises OSError."""
        for left in self._folder.glob(f'{PREFIX}*'):
            if left.name not in self._moving:
                left.unlink(missing_ok=True)

    async def hand_over(self, source: ReplicaClient, slot: int, target: ReplicaClient, into: int) -> int:
        """Move a slot's cache; its tokens. Raises HandOverFailed, after which the target's slot holds nothing sure."""
        name = f'{PREFIX}{secrets.token_hex(16)}'
        path = self._folder / name
        self._moving.add(name)
        try:
            self._reserve(path)
            return await self._move(source, slot, target, into, path)
        except OSError as error:
            raise HandOverFailed(f'{name}: {error.strerror or error}') from error
        finally:
            self._moving.discard(name)
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    async def _move(self, source: ReplicaClient, slot: int, target: ReplicaClient, into: int, path: Path) -> int:
        try:
            saved = await source.save(slot, path.name)
        except ReplicaError as error:
            raise HandOverFailed(str(error), source=error) from error
        size = path.stat().st_size if path.exists() else 0
        if not 0 < size <= self._largest:
            raise HandOverFailed(f'a slot file of {size} bytes: none, or more than {self._largest}')
        try:
            restored = await target.restore(into, path.name)
        except ReplicaError as error:
            raise HandOverFailed(str(error), target=error) from error
        if restored != saved:
            raise HandOverFailed(f'{saved} tokens were saved, {restored} restored')
        return restored

    @staticmethod
    def _reserve(path: Path) -> None:
        """Made by us, and ours alone to read, before a server writes into it."""
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IRUSR | stat.S_IWUSR))
