from __future__ import annotations

import pytest

from pace_ros.llm.errors import L2Refused


@pytest.mark.parametrize(('status', 'message', 'too_long'), [
    (413, '5000 tokens are more than a context of 4096.', True), (413, '', True),
    (400, 'request (5000 tokens) exceeds the available context size (4096 tokens)', True),
    (400, "This model's maximum context length is 4096 tokens.", True), (400, 'context_length_exceeded', True),
    (400, 'no such model', False), (429, 'context size', False), (0, 'context size', False),
])
def test_how_endpoints_say_that_a_prompt_is_too_long(status: int, message: str, too_long: bool) -> None:
    assert L2Refused(f'HTTP {status}: {message}', status=status).too_long is too_long
