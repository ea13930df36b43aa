"""Loading GPTCache: no package is installed, no logger changed, no file unpickled."""
from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pace_ros.study.gptcache import library
from pace_ros.study.gptcache.library import GptCacheUnusable, load

pytestmark = pytest.mark.skipif(
    find_spec('gptcache') is None, reason='GPTCache is not installed (requirements/study.txt)'
)
CHECK = """
import logging, socket, subprocess, sys
def no(*_, **__):
    raise SystemExit('it starts a process or goes out')
subprocess.Popen.__init__ = socket.socket.connect = no
from pace_ros.study.gptcache import GptCacheStore
class Two:
    dimension, fingerprint = 2, 'two'
    def embed(self, text):
        import numpy
        return numpy.array([1, 0], numpy.float32)
    embed_passage = embed
with GptCacheStore(Two()) as store:
    assert store.put('one', 'two') and store.get('one').answer == 'two'
assert logging.getLogger().handlers == []
assert 'openai' not in sys.modules
print('done')
"""


def test_a_fresh_process_starts_none_and_connects_nowhere(tmp_path: Path) -> None:
    root = Path(library.__file__).parents[3]
    ran = subprocess.run([sys.executable, '-c', f'import sys; sys.path.insert(0, {str(root)!r})\n{CHECK}'],
                         cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout == 'done\n', ran.stderr
    assert ran.returncode == 0
    assert not list(tmp_path.iterdir())
    assert not ran.stderr


def test_it_says_what_it_wants_instead_of_installing_it() -> None:
    load()
    import gptcache.utils  # type: ignore[import-untyped]
    from gptcache.utils import dependency_control

    for install in (gptcache.utils.prompt_install, dependency_control.prompt_install):
        with pytest.raises(GptCacheUnusable, match="'torch', which is not installed"):
            install('torch')
    with pytest.raises(GptCacheUnusable, match='wants the package'):
        gptcache.utils._check_library('no_such_module_anywhere')


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(library.NEEDED, 'no_such_module_anywhere', 'No-Such')
    with pytest.raises(GptCacheUnusable, match="'No-Such' is not installed"):
        load.__wrapped__()


def test_a_pickle_in_the_working_directory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'data_map.txt').write_bytes(b'')
    with pytest.raises(GptCacheUnusable, match=r'data_map\.txt'):
        load.__wrapped__()


def test_another_module_of_that_name_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    monkeypatch.setitem(sys.modules, 'gptcache', types.ModuleType('gptcache'))
    with pytest.raises(GptCacheUnusable, match='not the GPTCache library'):
        library._imported()


def test_the_version_measured() -> None:
    assert load().version == '0.1.44'
