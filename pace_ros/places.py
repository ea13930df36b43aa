"""Where files are: what was configured, what is kept, what is packaged."""
from __future__ import annotations

import os
from pathlib import Path

from pace_ros import packaged
from pace_ros.config import Config


def data_dir(config: Config) -> Path:
    """Where cache and log are kept."""
    chosen = config.data_dir or os.environ.get('PACE_DATA_DIR', '') or '~/.local/share/pace_ros'
    return Path(chosen).expanduser()


def data_file(config: Config, setting: str, name: str) -> Path | None:
    """The file a setting names, else the one of that name among the data; None for "none"."""
    if setting == 'none':
        return None
    return Path(setting).expanduser() if setting else data_dir(config) / name


def or_packaged(setting: str, name: str) -> Path:
    """The file a setting names, else the packaged one."""
    return Path(setting).expanduser() if setting else packaged.config_dir() / name
