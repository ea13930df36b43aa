"""A folder of a process's own, which it deletes; one that was killed leaves that to the next."""
from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SETTLED = 10.0  # s after which a folder is locked by its process, if that is alive


@contextlib.contextmanager
def own_folder(prefix: str) -> Iterator[Path]:
    """A folder that its user alone can read, deleted with the context; those left by killed processes are deleted
    before. Raises OSError.
    """
    _sweep(prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def _sweep(prefix: str) -> None:
    for each in Path(tempfile.gettempdir()).glob(f'{prefix}*'):
        with contextlib.suppress(OSError):  # another user's, in use, or gone meanwhile
            if each.is_symlink() or time.time() - each.stat().st_mtime < SETTLED:
                continue
            held = os.open(each, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(held).st_uid == os.geteuid():
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(each)
            finally:
                os.close(held)
