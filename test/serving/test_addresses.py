from __future__ import annotations

import pytest

from pace_ros.serving.addresses import base_url, listening, reachable


@pytest.mark.parametrize(('host', 'url'), [
    ('127.0.0.1', 'http://127.0.0.1:80'), ('localhost', 'http://localhost:80'), ('::1', 'http://[::1]:80'),
])
def test_a_host_is_its_own_name(host: str, url: str) -> None:
    assert base_url(host, 80) == url


@pytest.mark.parametrize('host', ['0.0.0.0', '::'])
def test_all_addresses_are_no_address(host: str) -> None:
    assert reachable(host) not in ('', host)


@pytest.mark.parametrize('host', ['127.0.0.1', '::1'])
def test_an_address_that_is_taken_gets_one_sentence(host: str) -> None:
    with listening(host, 0) as bound, pytest.raises(ValueError, match='cannot listen') as refused:
        listening(host, bound.getsockname()[1])
    assert str(refused.value) == f'It cannot listen on {host}, port {bound_port(refused)}: Address already in use.'


def bound_port(refused: pytest.ExceptionInfo[ValueError]) -> str:
    return str(refused.value).partition('port ')[2].partition(':')[0]


@pytest.mark.parametrize('host', ['192.0.2.1', 'no-such-host.invalid'])
def test_an_address_of_another_machine_is_named(host: str) -> None:
    with pytest.raises(ValueError, match=f'It cannot listen on {host}, port 0: .*[a-z]'):
        listening(host, 0)
