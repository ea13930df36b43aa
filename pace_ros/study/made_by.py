"""With what a study was made: the code, the machine, the libraries."""
from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pace_ros


def made_by(libraries: Iterable[str], workers: int) -> dict[str, Any]:
    """As JSON types, under code, machine and versions; libraries that are not installed are left out."""
    return {
        'code': source_digest(),
        'machine': {'system': platform.system(), 'architecture': platform.machine(),
                    'python': platform.python_version(), 'cores': os.cpu_count(), 'workers': workers},
        'versions': {name: found for name in libraries if (found := _version(name))},
    }


def source_digest() -> str:
    """Which code runs: of all Python files of the package, the same wherever it is installed."""
    root, digest = Path(pace_ros.__file__).parent, hashlib.sha256()
    for file in sorted(root.rglob('*.py')):
        digest.update(file.relative_to(root).as_posix().encode() + b'\0' + file.read_bytes())
    return digest.hexdigest()[:12]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ''
