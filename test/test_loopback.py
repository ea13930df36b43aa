import pytest

from pace_ros.loopback import on_loopback


@pytest.mark.parametrize(('url', 'here'), [
    ('http://127.0.0.1:8077/v1', True), ('http://localhost', True), ('http://[::1]:8077/v1', True),
    ('http://LOCALHOST:1', True), ('https://api.example/v1', False), ('http://127.0.0.1.example', False),
    ('http://[::1', False), ('', False),
])
def test_only_this_machine_s_own_names_are_here(url: str, here: bool) -> None:
    assert on_loopback(url) is here
