"""The parts of the GPTCache library that are used, loaded without its side effects."""
from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from pace_ros.study.refusal import Refusal

NEEDED = {'gptcache': 'gptcache', 'cachetools': 'cachetools', 'requests': 'requests', 'sqlalchemy': 'SQLAlchemy',
          'faiss': 'faiss-cpu'}
"""Modules the library imports on the way that is gone here, with their packages."""
PICKLE = Path('data_map.txt')  # of the working directory; the library unpickles it when it is imported


class GptCacheUnusable(Refusal):
    """The library cannot be used here; the message says what is missing or in the way."""


@dataclass(frozen=True)
class Library:
    """GPTCache's own names. Untyped, as the library is."""

    core: ModuleType
    api: ModuleType
    manager: ModuleType
    evaluation: ModuleType
    prompt_of: Any

    @property
    def version(self) -> str:
        """The library's version."""
        return str(self.core.__version__)


def refuse_install(package: str, warn: bool = False) -> NoReturn:
    """Takes the place of the library's ``prompt_install``, which would run pip. Raises GptCacheUnusable."""
    raise GptCacheUnusable(f"GPTCache wants the package '{package}', which is not installed; nothing is installed "
                           'while a study runs.')


@functools.cache
def load() -> Library:
    """Import the library.

    It installs no package from then on, and leaves the root logger as it was. Raises GptCacheUnusable where a package
    is missing, or where ./data_map.txt is in the way.
    """
    for module, package in NEEDED.items():
        if importlib.util.find_spec(module) is None:
            raise GptCacheUnusable(f"The package '{package}' is not installed, GPTCache needs it "
                                   '(requirements/study.txt).')
    if PICKLE.exists():
        raise GptCacheUnusable(f"GPTCache would unpickle '{PICKLE}' in the working directory; move it away.")
    root = logging.getLogger()
    handlers = list(root.handlers)
    try:
        return _imported()
    finally:
        for handler in set(root.handlers).difference(handlers):
            root.removeHandler(handler)


def _imported() -> Library:
    core = importlib.import_module('gptcache')
    if not hasattr(core, 'Cache'):
        raise GptCacheUnusable(f'{core!r} is not the GPTCache library.')
    utils = importlib.import_module('gptcache.utils')
    control = importlib.import_module('gptcache.utils.dependency_control')
    for module in (utils, control):
        module.prompt_install = refuse_install  # type: ignore[attr-defined]
    return Library(
        core=core,
        api=importlib.import_module('gptcache.adapter.api'),
        manager=importlib.import_module('gptcache.manager'),
        evaluation=importlib.import_module('gptcache.similarity_evaluation.distance'),
        prompt_of=importlib.import_module('gptcache.processor.pre').get_prompt,
    )
