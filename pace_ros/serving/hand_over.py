"""A KV cache goes from one replica to another through a file that nobody else may see, and is deleted at once."""
from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from pace_ros.serving.replica_client import ReplicaClient
from pace_ros.serving.replica_errors import ReplicaError
from pace_ros.settings import ConfigError

PREFIX = 'kv-'
PRIVATE = stat.S_IRWXU


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
        self._token_bytes = 0.0  # of the last file

    def prepare(self) -> None:
        """Make the folder, private, and delete what an earlier life left there.

        Raises ConfigError for a folder that cannot be made private, or that holds other files: it would be closed to
        their owners.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
            strange = [each.name for each in self._folder.iterdir() if not each.name.startswith(PREFIX)]
            if strange:
                raise ConfigError(f"'slot_dir' {self._folder} holds other files, as {min(strange)}: give it a folder "
                                  'of its own.')
            self._folder.chmod(PRIVATE)
            self.sweep()
        except OSError as error:
            raise ConfigError(f"'slot_dir' {self._folder} cannot be used: {error.strerror or error}.") from error

    def sweep(self) -> None:
        """Delete what is not being moved: a server may write a file after nobody waits for it. Raises OSError."""
        for left in self._folder.glob(f'{PREFIX}*'):
            if left.name not in self._moving:
                left.unlink(missing_ok=True)

    async def hand_over(self, source: ReplicaClient, slot: int, target: ReplicaClient, into: int, tokens: int) -> int:
        """Move a slot's cache of about so many tokens; its tokens. Raises HandOverFailed, after which the target's slot
        holds nothing sure.
        """
        if tokens * self._token_bytes > self._largest:
            raise HandOverFailed(f'{tokens} tokens would take more than {self._largest} bytes')
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
        self._check(path, saved.size, saved.tokens)
        try:
            restored = await target.restore(into, path.name)
        except ReplicaError as error:
            raise HandOverFailed(str(error), target=error) from error
        if restored != saved.tokens:
            raise HandOverFailed(f'{saved.tokens} tokens were saved, {restored} restored')
        return restored

    def _check(self, path: Path, written: int, tokens: int) -> None:
        """Raises HandOverFailed for a file that was not written as it should be; OSError where there is none."""
        size = path.stat().st_size
        if size == 0 or size != written:
            raise HandOverFailed(f'of a slot file of {written} bytes {size} are there: do all share one folder?')
        self._token_bytes = size / max(1, tokens)
        if size > self._largest:
            raise HandOverFailed(f'a slot file of {size} bytes is larger than {self._largest}')

    @staticmethod
    def _reserve(path: Path) -> None:
        """Made by us, and ours alone to read, before a server writes into it."""
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IRUSR | stat.S_IWUSR))
