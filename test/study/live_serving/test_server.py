from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest

from pace_ros.study.live_serving.server import Server, ServerAbsent, free_ports


def test_ports_are_free_and_different() -> None:
    ports = free_ports(3)
    assert len(set(ports)) == 3
    for each in ports:
        socket.create_server(('127.0.0.1', each)).close()


def test_a_server_that_does_not_start_is_named(tmp_path: Path) -> None:
    server = Server('decode-1', 'pace_ros.serving.no_such_module', [], tmp_path)
    server.start()
    with pytest.raises(ServerAbsent, match=r'decode-1 does not start: .*no_such_module'):
        server.wait()
    server.stop()


def test_a_server_that_ends_without_a_word_is_named(tmp_path: Path) -> None:
    (tmp_path / 'mute.py').write_text('')
    server = Server('decode-1', 'mute', [], tmp_path, {'PYTHONPATH': str(tmp_path)})
    server.start()
    with pytest.raises(ServerAbsent, match='decode-1 does not start: it gives no reason'):
        server.wait()
    server.stop()


def test_a_server_is_killed_and_started_again(tmp_path: Path) -> None:
    (tmp_path / 'told.py').write_text("import time\nprint('http://here', flush=True)\ntime.sleep(60)\n")
    server = Server('decode-1', 'told', [], tmp_path, {'PYTHONPATH': str(tmp_path)})
    server.send(signal.SIGSTOP)  # nobody is there
    for starts in (1, 2):
        server.start()
        assert server.wait() == 'http://here'
        assert server.alive
        assert server.starts == starts
        server.send(signal.SIGSTOP)
        server.kill()
        assert not server.alive


def test_a_server_that_is_slower_than_it_may_be_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys, time\nprint('reading', file=sys.stderr, flush=True)\ntime.sleep(60)\n"
    (tmp_path / 'slow.py').write_text(code)
    monkeypatch.setattr('pace_ros.study.live_serving.server.START', 1.5)
    server = Server('decode-1', 'slow', [], tmp_path, {'PYTHONPATH': str(tmp_path)})
    server.start()
    try:
        with pytest.raises(ServerAbsent, match=r'decode-1 does not answer within 1\.5 s; it said last: reading'):
            server.wait()
    finally:
        server.kill()
