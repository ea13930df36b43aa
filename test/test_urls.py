from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.urls import names_user, shown_url, split_url

KEY = 'sk-secret-0123456789'


@pytest.mark.parametrize('url', [
    'http://a.example', 'https://a.example:8443/v1', 'http://[::1]:80/v1', 'http://a.example/v1/@org',
    'https://shop.example/stock/{model}', 'http://robot_1:8090/v1',
])
def test_what_requests_can_be_sent_to_is_split(url: str) -> None:
    assert split_url(url).geturl() == url
    assert not names_user(url)


@pytest.mark.parametrize(('url', 'named'), [
    (f'https://{KEY}@a.example/v1', True), (f'http://user:{KEY}@[::1]:1', True), (f'http://{KEY}@a.example?x', True),
    (f'me:{KEY}@a.example/v1', True), (f'http:/me:{KEY}@a.example', True), (f'htp://{KEY}@a.example', True),
    (f'http:///{KEY}@a.example', True), (f'//{KEY}@a.example', True), (f'https/{KEY}@a.example', False),
    ('http://a.example/@org', False), ('http://a.example?to=me@b.example', False), ('a.example', False), ('', False),
])
def test_a_user_is_told_from_an_at_sign_elsewhere(url: str, named: bool) -> None:
    assert names_user(url) is named


@pytest.mark.parametrize(('url', 'shown'), [
    ('ftp://a.example/v1', "'ftp://a.example/v1'"),
    (f'http://a.example/v1?key={KEY}', "'http://a.example/v1' and more"),
    (f'http://a.example/v1#{KEY}', "'http://a.example/v1' and more"), ('', "''"),
    (f'https://me:{KEY}@a.example', 'a URL with a user or password'),
])
def test_what_may_be_secret_is_not_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@given(st.one_of(st.text(), st.from_regex(r'https?://[a-z\[\]:.0-9@%{}, /?#-]{0,30}', fullmatch=True)))
def test_anything_is_refused_in_words_or_can_be_asked(url: str) -> None:
    fault = ''
    try:
        split_url(url)
    except ValueError as error:
        fault = str(error)
    assert fault.startswith(('must ', 'is no URL')) if fault else httpx.Request('GET', url).url.host
