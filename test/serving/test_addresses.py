from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import Any

import pytest

from pace_ros.serving.addresses import base_url, listening, reachable


@pytest.mark.parametrize(('host', 'url'), [
    ('127.0.0.1', 'http://127.0.0.1:80'), ('localhost', 'http://localhost:80'), ('::1', 'http://[::1]:80'),
])
def test_a_host_is_its_own_name(host: str, url: str) -> None:
    assert base_url(host, 80) == url


@pytest.mark.parametrize('host', ['0.0.0.0', '::'])
def test_all_addresses_are_no_address(host: str) -> None:
    assert not ip_address(reachable(host)).is_unspecified


@pytest.mark.parametrize('host', ['127.0.0.1', '::1'])
def test_an_address_that_is_taken_gets_one_sentence(host: str) -> None:
    with listening(host, 0) as bound, pytest.raises(ValueError, match='cannot listen') as refused:
        listening(host, bound.getsockname()[1])
    assert str(refused.value) == f'It cannot listen on {host}, port {bound_port(refused)}: Address already in use.'


def bound_port(refused: pytest.ExceptionInfo[ValueError]) -> str:
    return str(refused.value).partition('port ')[2].partition(':')[0]


def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(ValueError, match=r'It cannot listen on 192\.0\.2\.1, port 0: .*[a-z]'):
        listening('192.0.2.1', 0)


def test_a_name_that_nobody_has_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> socket.socket:
        raise socket.gaierror(socket.EAI_NONAME, 'Name or service not known')

    monkeypatch.setattr(socket, 'create_server', unknown)
    with pytest.raises(ValueError, match='It cannot listen on nobody, port 0: Name or service not known'):
        listening('nobody', 0)
