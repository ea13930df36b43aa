from __future__ import annotations

import dataclasses

import pytest

from pace_ros.config_levels import L2
from pace_ros.llm import Endpoint, endpoint_of
from pace_ros.settings import ConfigError
from pace_ros.urls import shown_url

KEY = 'sk-secret-0123456789'


def test_without_anything_it_is_the_local_stand_in() -> None:
    assert endpoint_of(L2(), {}) == Endpoint('http://127.0.0.1:8077/v1', 'local', '')


def test_the_environment_comes_before_the_stand_in() -> None:
    environment = {'PACE_L2_BASE_URL': 'https://a.example/v1', 'PACE_L2_MODEL': 'big', 'PACE_L2_API_KEY': KEY}
    assert endpoint_of(L2(), environment) == Endpoint('https://a.example/v1', 'big', KEY)


@pytest.mark.parametrize(('url', 'local'), [
    ('http://127.0.0.1:8077/v1', True), ('http://localhost/v1', True), ('http://[::1]:1/v1', True),
    ('https://api.example.com/v1', False), ('http://127.0.0.1.example.com/v1', False),
    ('http://[not-an-address/v1', False),
])
def test_it_knows_whether_it_runs_on_this_machine(url: str, local: bool) -> None:
    assert Endpoint(url, 'm').is_local is local


def test_parameters_come_before_the_environment() -> None:
    environment = {'PACE_L2_BASE_URL': 'https://a.example/v1', 'PACE_L2_MODEL': 'big'}
    config = L2(base_url='http://b.example/v1', model='small')
    assert endpoint_of(config, environment) == Endpoint('http://b.example/v1', 'small', '')


def test_empty_variables_are_as_good_as_none() -> None:
    environment = {'PACE_L2_BASE_URL': '', 'PACE_L2_MODEL': '', 'PACE_L2_API_KEY': ''}
    assert endpoint_of(L2(), environment) == endpoint_of(L2(), {})


@pytest.mark.parametrize('url', ['http://a.example/v1/', 'http://a.example/v1//', 'http://a.example/v1'])
def test_slashes_at_the_end_do_not_matter(url: str) -> None:
    assert endpoint_of(L2(base_url=url), {}).base_url == 'http://a.example/v1'


@pytest.mark.parametrize('url', ['a.example/v1', 'ftp://a.example', '127.0.0.1:8077', ' http://a.example', 'file:///etc'])
def test_a_bad_url_is_named(url: str) -> None:
    with pytest.raises(ConfigError, match='http://') as caught:
        endpoint_of(L2(base_url=url), {'PACE_L2_API_KEY': KEY})
    assert repr(url) in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize('url', [f'https://{KEY}@a.example/v1', f'https://user:{KEY}@a.example', f'http://{KEY}@[::1]:1',
                                 f'me:{KEY}@a.example/v1', f'http:/{KEY}@a.example'])
def test_a_key_in_the_url_is_refused_since_the_url_is_shown(url: str) -> None:
    with pytest.raises(ConfigError, match='must not hold a user or password') as caught:
        endpoint_of(L2(), {'PACE_L2_BASE_URL': url})
    assert KEY not in str(caught.value)


def test_an_at_sign_in_the_path_is_no_user() -> None:
    assert endpoint_of(L2(base_url='https://a.example/v1/@org'), {}).base_url == 'https://a.example/v1/@org'


@pytest.mark.parametrize(('url', 'fault'), [
    ('http://127.0.0.1:8090,', 'is no URL'), ('http://a.example:99999/v1', 'is no URL'),
    ('http://a.example:0', 'must not have port 0'), ('https:///v1', 'must have a host'),
    ('http://[::1/v1', 'is no URL'), ('http://a b/v1', 'must not hold blanks'),
    ('http://a.example/v1\n', 'must not hold blanks'), (f'http://a.example/v1?key={KEY}', 'must end with its path'),
    ('http://a.example/v1#x', 'must end with its path'),
])
def test_a_url_that_no_request_can_be_sent_to_is_refused_before_anybody_asks(url: str, fault: str) -> None:
    for config, environment in ((L2(base_url=url), {}), (L2(), {'PACE_L2_BASE_URL': url})):
        with pytest.raises(ConfigError, match=fault) as caught:
            endpoint_of(config, environment)
        assert shown_url(url) in str(caught.value)
        assert KEY not in str(caught.value)


@pytest.mark.parametrize('key', [f'{KEY}\n', f' {KEY} ', f'{KEY}\r\n'])
def test_blanks_around_the_key_are_dropped(key: str) -> None:
    assert endpoint_of(L2(), {'PACE_L2_API_KEY': key}).api_key == KEY


@pytest.mark.parametrize('bad', ['sk-\n', 'é', '密', '\x00', '\x7f', '\r\nX-Evil: 1'])
def test_a_key_no_header_can_carry_is_refused_without_showing_it(bad: str) -> None:
    with pytest.raises(ConfigError, match='PACE_L2_API_KEY') as caught:
        endpoint_of(L2(), {'PACE_L2_API_KEY': f'{KEY}{bad}tail'})
    assert KEY not in str(caught.value)


def test_the_key_never_shows() -> None:
    endpoint = endpoint_of(L2(), {'PACE_L2_API_KEY': KEY})
    assert endpoint.api_key == KEY
    assert KEY not in repr(endpoint)
    assert KEY not in str(endpoint)
    assert KEY not in f'{endpoint}'


def test_no_parameter_could_hold_a_key() -> None:
    assert not [field.name for field in dataclasses.fields(L2) if 'key' in field.name or 'secret' in field.name]
