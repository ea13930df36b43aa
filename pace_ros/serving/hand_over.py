"""A KV cache goes from one replica to another through a file that nobody else may see, and is deleted at once."""
from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import secrets
import stat
from pathlib import Path

from pace_ros.clock import Clock, SystemClock
from pace_ros.serving.gateway_metrics import hand_over_seconds
from pace_ros.serving.replica_client import ReplicaClient
from pace_ros.serving.replica_errors import ReplicaError, ReplicaRefused
from pace_ros.settings import ConfigError

log = logging.getLogger(__name__)
PREFIX = 'kv-'
PRIVATE = stat.S_IRWXU


ALIKE = ' (both must have the same model, kind of KV cache and number of slots, unless they share one cache each)'


class HandOverFailed(RuntimeError):
    """The cache was not moved; the message says why. ``source`` and ``target``: who is to blame, if anyone; ``apart``:
    the source has a slot folder that is not ours, and has left a file there.
    """

    def __init__(
        self, message: str, *, source: ReplicaError | None = None, target: ReplicaError | None = None,
        apart: bool = False,
    ) -> None:
        super().__init__(message)
        self.apart = apart
        self.source = source
        self.target = target


class SlotFiles:
    """The folder that the replicas share. Its names are random: no client's word is in them. It is one gateway's alone:
    another would take its files for left over.
    """

    def __init__(self, folder: Path, *, largest: int, clock: Clock | None = None) -> None:
        self.seconds = hand_over_seconds()
        self._clock = clock or SystemClock()
        self._folder = folder
        self._largest = largest
        self._moving: set[str] = set()
        self._token_bytes = 0.0  # of the last file
        self._locked: int | None = None  # a descriptor

    def prepare(self) -> None:
        """Make the folder, private, and delete what an earlier life left there. It is locked until ``close``.

        Raises ConfigError for a folder that cannot be made private, that another gateway has, or that holds other
        files: it would be closed to their owners.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
            strange = [each.name for each in self._folder.iterdir() if not each.name.startswith(PREFIX)]
            if strange:
                raise ConfigError(f"'slot_dir' {self._folder} holds other files, as {min(strange)}: give it a folder "
                                  'of its own.')
            self._folder.chmod(PRIVATE)
            self._lock()
            self.sweep()
        except OSError as error:
            raise ConfigError(f"'slot_dir' {self._folder} cannot be used: {error.strerror or error}.") from error

    def close(self) -> None:
        """Delete what is left, and let another gateway have the folder. Raises OSError."""
        try:
            self.sweep()
        finally:
            if self._locked is not None:
                os.close(self._locked)
                self._locked = None

    def _lock(self) -> None:
        """Raises ConfigError where another gateway has it."""
        if self._locked is not None:
            return
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(folder)
            raise ConfigError(f"'slot_dir' {self._folder} is in use by another gateway: give each a folder of its "
                              'own.') from None
        except OSError as error:  # a network file system may lock no folders
            log.warning('%s cannot be locked (%s): see that no other gateway uses it', self._folder, error.strerror)
        self._locked = folder

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
        path, began = self._folder / name, self._clock.monotonic()
        self._moving.add(name)
        try:
            self._reserve(path)
            moved = await self._move(source, slot, target, into, path)
        except OSError as error:
            raise HandOverFailed(f'{name}: {error.strerror or error}') from error
        else:
            self.seconds.observe(self._clock.monotonic() - began)
            return moved
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
            why = f'{error}{ALIKE}' if isinstance(error, ReplicaRefused) and not error.failed else str(error)
            raise HandOverFailed(why, target=error) from error
        if restored != saved.tokens:
            raise HandOverFailed(f'{saved.tokens} tokens were saved, {restored} restored')
        return restored

    def _check(self, path: Path, written: int, tokens: int) -> None:
        """Raises HandOverFailed for a file that was not written as it should be; OSError where there is none."""
        size = path.stat().st_size
        if size == 0 or size != written:
            raise HandOverFailed(f'of a slot file of {written} bytes {size} are there', apart=size == 0 < written)
        self._token_bytes = size / max(1, tokens)
        if size > self._largest:
            raise HandOverFailed(f'a slot file of {size} bytes is larger than {self._largest}')

    @staticmethod
    def _reserve(path: Path) -> None:
        """Made by us, and ours alone to read, before a server writes into it."""
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IRUSR | stat.S_IWUSR))
