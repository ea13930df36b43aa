"""Where a second request goes, and whose key it carries."""
from __future__ import annotations

import dataclasses

import pytest

from pace_ros.config_levels import Hedge
from pace_ros.llm import Endpoint, hedge_endpoint_of
from pace_ros.settings import ConfigError

FIRST = Endpoint('https://first.example/v1', 'big', 'sk-first-0123456789')
KEY = 'sk-second-9876543210'
BOTH_KEYS = {'PACE_L2_API_KEY': FIRST.api_key, 'PACE_L2_HEDGE_API_KEY': KEY}
OTHER = 'https://second.example/v1'


@pytest.mark.parametrize('environment', [{}, BOTH_KEYS, {'PACE_L2_BASE_URL': OTHER, 'PACE_L2_MODEL': 'small'}])
def test_without_a_url_it_is_the_first_one_again(environment: dict[str, str]) -> None:
    assert hedge_endpoint_of(Hedge(), FIRST, environment) is None


def test_it_has_its_own_key() -> None:
    assert hedge_endpoint_of(Hedge(base_url=OTHER), FIRST, BOTH_KEYS) == Endpoint(OTHER, 'big', KEY)


@pytest.mark.parametrize('environment', [
    {'PACE_L2_API_KEY': FIRST.api_key}, {**BOTH_KEYS, 'PACE_L2_HEDGE_API_KEY': ''},
    {**BOTH_KEYS, 'PACE_L2_HEDGE_API_KEY': ' \n'},
])
@pytest.mark.parametrize('base_url', [OTHER, FIRST.base_url, f'{FIRST.base_url}/other'])
def test_it_never_gets_the_first_one_s(environment: dict[str, str], base_url: str) -> None:
    second = hedge_endpoint_of(Hedge(base_url=base_url), FIRST, environment)
    assert second == Endpoint(base_url, 'big', '')


@pytest.mark.parametrize(('model', 'chosen'), [('', 'big'), ('small', 'small')])
def test_its_model_is_the_first_one_s_unless_named(model: str, chosen: str) -> None:
    second = hedge_endpoint_of(Hedge(base_url=OTHER, model=model), FIRST, {'PACE_L2_MODEL': 'not this one'})
    assert second is not None
    assert second.model == chosen


@pytest.mark.parametrize('url', [f'{OTHER}/', f'{OTHER}//', OTHER])
def test_slashes_at_the_end_do_not_matter(url: str) -> None:
    second = hedge_endpoint_of(Hedge(base_url=url), FIRST, {})
    assert second is not None
    assert second.base_url == OTHER


@pytest.mark.parametrize('url', ['second.example/v1', 'ftp://second.example', ' http://second.example', 'file:///etc'])
def test_a_bad_url_is_named_with_its_parameter(url: str) -> None:
    with pytest.raises(ConfigError, match=r'hedge\.base_url.*http://') as caught:
        hedge_endpoint_of(Hedge(base_url=url), FIRST, BOTH_KEYS)
    assert repr(url) in str(caught.value)
    assert KEY not in str(caught.value)
    assert FIRST.api_key not in str(caught.value)


@pytest.mark.parametrize('bad', ['sk-\n', 'é', '密', '\x00', '\r\nX-Evil: 1'])
def test_a_key_no_header_can_carry_is_refused_without_showing_it(bad: str) -> None:
    with pytest.raises(ConfigError, match='PACE_L2_HEDGE_API_KEY') as caught:
        hedge_endpoint_of(Hedge(base_url=OTHER), FIRST, {'PACE_L2_HEDGE_API_KEY': f'{KEY}{bad}tail'})
    assert KEY not in str(caught.value)


def test_a_bad_key_does_not_matter_where_there_is_no_second_endpoint() -> None:
    assert hedge_endpoint_of(Hedge(), FIRST, {'PACE_L2_HEDGE_API_KEY': 'é'}) is None


@pytest.mark.parametrize('key', [f'{KEY}\n', f' {KEY} ', f'{KEY}\r\n'])
def test_blanks_around_the_key_are_dropped(key: str) -> None:
    second = hedge_endpoint_of(Hedge(base_url=OTHER), FIRST, {'PACE_L2_HEDGE_API_KEY': key})
    assert second is not None
    assert second.api_key == KEY


def test_the_key_never_shows() -> None:
    second = hedge_endpoint_of(Hedge(base_url=OTHER), FIRST, BOTH_KEYS)
    assert KEY not in f'{second}{second!r}'


def test_no_parameter_could_hold_a_key() -> None:
    assert not [field.name for field in dataclasses.fields(Hedge) if 'key' in field.name or 'secret' in field.name]


def test_another_model_of_the_same_endpoint_will_do() -> None:
    assert hedge_endpoint_of(Hedge(model='small'), FIRST, BOTH_KEYS) == Endpoint(FIRST.base_url, 'small', FIRST.api_key)
