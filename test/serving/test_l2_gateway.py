from __future__ import annotations

import contextlib
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from printed_url import printed_url

from pace_ros.serving import keys, l2_gateway
from pace_ros.serving.fleet import Fleet, fleet_of
from pace_ros.settings import ConfigError


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (keys.TOKEN, keys.KEY):
        monkeypatch.delenv(name, raising=False)


def fleet(**settings: object) -> Fleet:
    return fleet_of({'replicas': [{'name': 'one', 'url': 'http://127.0.0.1:1'}], **settings})


@pytest.mark.parametrize('host', ['0.0.0.0', '192.168.1.5', '::'])
def test_beyond_loopback_a_token_is_needed(host: str) -> None:
    with pytest.raises(ConfigError, match=rf"'host' is {host}: beyond loopback .* so set PACE_GATEWAY_TOKEN"):
        l2_gateway.opened(fleet(host=host), 0)


def test_with_a_token_it_listens_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.TOKEN, 'secret')
    _, bound = l2_gateway.opened(fleet(host='0.0.0.0'), 0)
    with bound:
        host, port = l2_gateway.url_of(bound).removeprefix('http://').removesuffix('/v1').split(':')
        assert host != '0.0.0.0'
        socket.create_connection((host, int(port)), timeout=5).close()


def test_a_taken_port_gets_a_sentence() -> None:
    says = r'The gateway: It cannot listen on 127\.0\.0\.1, port \d+: Address already in use\.$'
    with socket.create_server(('127.0.0.1', 0)) as taken, pytest.raises(ConfigError, match=says):
        l2_gateway.opened(fleet(), taken.getsockname()[1])


@pytest.mark.parametrize('port', [-1, 70_000])
def test_so_does_a_port_that_is_none(port: int) -> None:
    with pytest.raises(ConfigError, match=f'cannot listen on 127.0.0.1, port {port}'):
        l2_gateway.opened(fleet(), port)


@pytest.mark.parametrize('secret', ['snow\u2603', 'two\nlines'])
def test_a_secret_that_no_header_holds_is_not_shown(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv(keys.TOKEN, secret)
    with pytest.raises(ConfigError, match='PACE_GATEWAY_TOKEN must be printable ASCII') as refused:
        l2_gateway.opened(fleet(), 0)
    assert secret not in str(refused.value)


def test_a_folder_that_cannot_be_used_is_told_before_it_listens(tmp_path: Path) -> None:
    (tmp_path / 'letter').write_text('')
    with pytest.raises(ConfigError, match=r"'slot_dir' .* holds other files"):
        l2_gateway.opened(fleet(slot_dir=str(tmp_path)), 0)


def test_the_slot_folder_is_made_private(tmp_path: Path) -> None:
    _, bound = l2_gateway.opened(fleet(slot_dir=str(tmp_path / 'slots')), 0)
    bound.close()
    assert stat.S_IMODE((tmp_path / 'slots').stat().st_mode) == 0o700


def test_two_gateways_do_not_share_a_slot_folder(tmp_path: Path) -> None:
    one, bound = l2_gateway.opened(fleet(slot_dir=str(tmp_path)), 0)
    with bound, pytest.raises(ConfigError, match=r"'slot_dir' .* is in use by another gateway"):
        l2_gateway.opened(fleet(slot_dir=str(tmp_path)), 0)
    assert one


def test_a_bad_fleet_file_ends_it_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('sys.argv', ['l2_gateway', str(tmp_path / 'none.yaml')])
    with pytest.raises(SystemExit, match=r'l2_gateway: .*none\.yaml cannot be read'):
        l2_gateway.main()


def test_an_address_of_version_six_stands_in_brackets() -> None:
    with l2_gateway.listening('::1', 0) as bound:
        assert l2_gateway.url_of(bound) == f'http://[::1]:{bound.getsockname()[1]}/v1'


def test_told_to_end_twice_it_ends_without_a_word(tmp_path: Path) -> None:
    (tmp_path / 'fleet.yaml').write_text('replicas: [{name: one, url: "http://127.0.0.1:1"}]\n')
    log = tmp_path / 'log'
    with (
        printed_url('pace_ros.serving.l2_gateway', 'fleet.yaml', '--port', '0', log=log, start=30.0) as (process, url),
        socket.create_connection(('127.0.0.1', urlsplit(url).port or 0), timeout=10) as client,
    ):
        client.sendall(b'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'
                       b'content-length: 9\r\nexpect: 100-continue\r\n\r\n')
        assert client.recv(100).startswith(b'HTTP/1.1 100'), 'it is being heard'
        until = time.monotonic() + 4.0
        while process.poll() is None and time.monotonic() < until:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.3)
        assert process.poll() in (0, -signal.SIGINT)  # the last one may have come when it was as good as over
    assert 'Traceback' not in log.read_text()
    assert 'ERROR' not in log.read_text()
