from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pace_ros.serving import l2_replica


class Parameters:
    def __init__(self) -> None:
        self.model = SimpleNamespace()
        self.cpuparams, self.cpuparams_batch = SimpleNamespace(), SimpleNamespace()


LLAMA = SimpleNamespace(CommonParams=Parameters)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / 'model.gguf'
    path.write_bytes(b'GGUF')
    return path


@pytest.fixture(autouse=True)
def mask() -> Any:
    before = os.umask(0o022)
    yield
    os.umask(before)


def parameters(model: Path, *words: str) -> Any:
    return l2_replica.parameters_of(l2_replica.arguments(['--model', str(model), *words]), LLAMA)


def test_every_slot_has_its_context_and_only_slots_hold_caches(model: Path) -> None:
    made = parameters(model, '--slots', '3', '--context', '100', '--batch', '64', '--threads', '2')
    assert (made.n_parallel, made.n_ctx, made.n_batch, made.n_ubatch) == (3, 300, 64, 64)
    assert (made.cpuparams.n_threads, made.cpuparams_batch.n_threads) == (2, 2)
    assert (made.cache_ram_mib, made.hostnames, made.endpoint_slots) == (0, ['127.0.0.1'], True)
    assert not hasattr(made, 'slot_save_path')
    assert not hasattr(made, 'api_keys')


def test_what_it_writes_is_private(model: Path, tmp_path: Path) -> None:
    made = parameters(model, '--slot-dir', str(tmp_path / 'slots'))
    assert made.slot_save_path == f'{tmp_path}/slots/'
    assert stat.S_IMODE((tmp_path / 'slots').stat().st_mode) == 0o700
    (tmp_path / 'slots' / 'kv-1').write_text('')
    assert stat.S_IMODE((tmp_path / 'slots' / 'kv-1').stat().st_mode) == 0o600


def test_its_key_is_from_the_environment(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(l2_replica.KEY, ' secret ')
    assert parameters(model).api_keys == ['secret']


@pytest.mark.parametrize(('words', 'says'), [
    (['--slots', '0'], '--slots must be at least 1, not 0'), (['--context', '-5'], '--context'),
    (['--batch', '0'], '--batch'), (['--threads', '0'], '--threads'), (['--port', '70000'], '--port must be from 0'),
    (['--model', '/nowhere.gguf'], 'There is no model at /nowhere.gguf'),
])
def test_what_cannot_be_gets_a_sentence(model: Path, words: list[str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parameters(model, *words)


def test_cores() -> None:
    usable = sorted(os.sched_getaffinity(0))
    assert l2_replica.cores_of(str(usable[0])) == {usable[0]}
    with pytest.raises(ValueError, match="must be numbers with commas between, not 'all'"):
        l2_replica.cores_of('all')
    with pytest.raises(ValueError, match='this machine lets it use'):
        l2_replica.cores_of('99999')
