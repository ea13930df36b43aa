from __future__ import annotations

import socket
import stat
from pathlib import Path

import pytest

from pace_ros.serving import l2_gateway
from pace_ros.serving.fleet import Fleet, fleet_of
from pace_ros.settings import ConfigError


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (l2_gateway.TOKEN, l2_gateway.KEY):
        monkeypatch.delenv(name, raising=False)


def fleet(**settings: object) -> Fleet:
    return fleet_of({'replicas': [{'name': 'one', 'url': 'http://127.0.0.1:1'}], **settings})


@pytest.mark.parametrize('host', ['0.0.0.0', '192.168.1.5', '::'])
def test_beyond_loopback_a_token_is_needed(host: str) -> None:
    with pytest.raises(ConfigError, match=rf"'host' is {host}: beyond loopback .* so set PACE_GATEWAY_TOKEN"):
        l2_gateway.opened(fleet(host=host), 0)


def test_with_a_token_it_listens_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(l2_gateway.TOKEN, 'secret')
    _, bound = l2_gateway.opened(fleet(host='0.0.0.0'), 0)
    with bound:
        assert l2_gateway.url_of(bound).startswith('http://0.0.0.0:')


def test_a_taken_port_gets_a_sentence() -> None:
    with socket.create_server(('127.0.0.1', 0)) as taken, pytest.raises(ConfigError, match=r'listen on 127\.0\.0\.1'):
        l2_gateway.opened(fleet(), taken.getsockname()[1])


@pytest.mark.parametrize('port', [-1, 70_000])
def test_so_does_a_port_that_is_none(port: int) -> None:
    with pytest.raises(ConfigError, match=f'cannot listen on 127.0.0.1, port {port}'):
        l2_gateway.opened(fleet(), port)


@pytest.mark.parametrize('secret', ['snow\u2603', 'two\nlines'])
def test_a_secret_that_no_header_holds_is_not_shown(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv(l2_gateway.TOKEN, secret)
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


def test_a_bad_fleet_file_ends_it_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('sys.argv', ['l2_gateway', str(tmp_path / 'none.yaml')])
    with pytest.raises(SystemExit, match=r'l2_gateway: .*none\.yaml cannot be read'):
        l2_gateway.main()


def test_an_address_of_version_six_stands_in_brackets() -> None:
    with l2_gateway.listening('::1', 0) as bound:
        assert l2_gateway.url_of(bound) == f'http://[::1]:{bound.getsockname()[1]}/v1'


