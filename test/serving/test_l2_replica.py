from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pace_ros.serving import keys, l2_replica, local_fleet
from pace_ros.serving.fleet import Replica


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


def test_slots_share_one_cache_if_told_to(model: Path) -> None:
    made = parameters(model, '--slots', '3', '--context', '100', '--kv', '250')
    assert (made.kv_unified, made.n_ctx, made.kv_unified_per_slot, made.n_parallel) == (True, 250, 100, 3)
    assert not hasattr(parameters(model, '--slots', '3', '--context', '100'), 'kv_unified')


def test_what_it_writes_is_private(model: Path, tmp_path: Path) -> None:
    made = parameters(model, '--slot-dir', str(tmp_path / 'slots'))
    assert made.slot_save_path == f'{tmp_path}/slots/'
    assert stat.S_IMODE((tmp_path / 'slots').stat().st_mode) == 0o700
    (tmp_path / 'slots' / 'kv-1').write_text('')
    assert stat.S_IMODE((tmp_path / 'slots' / 'kv-1').stat().st_mode) == 0o600


def test_its_key_is_from_the_environment(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.KEY, ' secret ')
    assert parameters(model).api_keys == ['secret']


@pytest.mark.parametrize(('words', 'says'), [
    (['--slots', '0'], '--slots must be at least 1, not 0'), (['--context', '-5'], '--context'),
    (['--slots', '2', '--context', '100', '--kv', '99'], r'--kv must be from one .*100.* to all .*200.*, not 99'),
    (['--slots', '2', '--context', '100', '--kv', '201'], '--kv must be'), (['--kv', '-1'], '--kv must be'),
    (['--batch', '0'], '--batch'), (['--threads', '0'], '--threads'),
    (['--host', '::'], 'beyond loopback clients must bear a key, so set PACE_REPLICA_API_KEY'),
    (['--model', '/nowhere.gguf'], 'There is no model at /nowhere.gguf'),
])
def test_what_cannot_be_gets_a_sentence(model: Path, words: list[str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parameters(model, *words)


def test_beyond_loopback_with_a_key(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.KEY, 'secret')
    assert parameters(model, '--host', '0.0.0.0').hostnames == ['0.0.0.0']


def test_a_key_that_no_header_can_hold_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.KEY, 'schlüssel')
    with pytest.raises(ValueError, match='PACE_REPLICA_API_KEY must be printable ASCII'):
        parameters(model)


def test_a_taken_port_is_named_before_anything_is_loaded(model: Path) -> None:
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(ValueError, match=rf'cannot listen on 127\.0\.0\.1, port {port}: Address already in use'):
            parameters(model, '--port', port)


@pytest.mark.parametrize('content', [b'', b'GGU', b'not a model'])
def test_a_file_that_is_no_model_is_named(model: Path, content: bytes) -> None:
    model.write_bytes(content)
    with pytest.raises(ValueError, match=r'model\.gguf is no GGUF model'):
        parameters(model)


def test_its_size_is_that_of_a_fleet_file_that_does_not_say(model: Path) -> None:
    options = l2_replica.arguments([])
    assert (options.slots, options.context) == (Replica().slots, Replica().context)
    fleet = local_fleet.arguments([])
    assert (fleet.slots, fleet.context) == (options.slots, options.context)


def test_cores() -> None:
    usable = sorted(os.sched_getaffinity(0))
    assert l2_replica.cores_of(str(usable[0])) == {usable[0]}
    with pytest.raises(ValueError, match="must be numbers with commas between, not 'all'"):
        l2_replica.cores_of('all')
    with pytest.raises(ValueError, match='this machine lets it use'):
        l2_replica.cores_of('99999')
