from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.llm.url import names_user, split_url

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
    ('http://a.example/@org', False), ('http://a.example?to=me@b.example', False), ('a.example', False), ('', False),
])
def test_a_user_is_told_from_an_at_sign_elsewhere(url: str, named: bool) -> None:
    assert names_user(url) is named


@given(st.one_of(st.text(), st.from_regex(r'https?://[a-z\[\]:.0-9@%{}, /?#-]{0,30}', fullmatch=True)))
def test_anything_is_refused_in_words_or_can_be_asked(url: str) -> None:
    fault = ''
    try:
        split_url(url)
    except ValueError as error:
        fault = str(error)
    assert fault.startswith(('must ', 'is no URL')) if fault else httpx.Request('GET', url).url.host
