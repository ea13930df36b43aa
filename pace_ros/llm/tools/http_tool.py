"""A tool behind HTTP: a live price, what is in stock, a booking."""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import httpx

from pace_ros.llm.redaction import Redaction
from pace_ros.llm.tools.template import filled, filled_url
from pace_ros.llm.tools.tool import ToolFailed, ToolResult, ToolSpec
from pace_ros.loopback import on_loopback

MAX_CHARS = 4000  # of a result that the model is given
_UNSENT = (  # errors before anything was sent
    httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.LocalProtocolError,
    httpx.ProxyError, httpx.InvalidURL,
)


_ASKS_AGAIN = (httpx.codes.TEMPORARY_REDIRECT, httpx.codes.PERMANENT_REDIRECT)  # elsewhere: nothing was done here


@dataclass(frozen=True)
class HttpRequest:
    """How a call becomes a request, and where in the response its answer stands.

    ``answer`` is the dotted path of a field in a JSON response, empty for all of it. ``secret`` goes after
    ``secret_prefix`` into the header ``secret_header``. A response above ``max_bytes`` is refused.
    """

    url: str
    method: str = 'GET'
    query: Mapping[str, object] = field(default_factory=dict)
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    secret_header: str = ''
    secret_prefix: str = ''
    secret: str = field(default='', repr=False)
    answer: str = ''
    max_bytes: int = 65536

    @property
    def is_local(self) -> bool:
        """Whether it goes to this machine."""
        return on_loopback(self.url)


class HttpTool:
    """Redirects are not followed; the secret shows in no result and in no complaint."""

    def __init__(
        self, spec: ToolSpec, request: HttpRequest, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self.spec = spec
        self._request = request
        self._redaction = Redaction([request.secret] if request.secret else [])
        headers = {'Accept': 'application/json', 'Accept-Encoding': 'identity', **request.headers}
        if request.secret:
            headers[request.secret_header] = request.secret_prefix + request.secret
        self._http = httpx.AsyncClient(
            headers=headers, transport=transport, trust_env=not request.is_local, follow_redirects=False,
            timeout=spec.timeout,
        )

    async def aclose(self) -> None:
        """Close the connection pool."""
        await self._http.aclose()

    async def call(self, arguments: Mapping[str, object], locale: str) -> ToolResult:
        """Ask the server. Raises ToolFailed."""
        request = self._request
        given = {**arguments, 'locale': locale}
        query = {key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                 for key, value in cast(Mapping[str, object], filled(request.query, given)).items()}
        body = filled(request.body, given)
        try:
            async with self._http.stream(
                request.method, filled_url(request.url, given), params=query or None, json=body,
            ) as response:
                self._check(response)
                content = await self._read(response)
        except httpx.TimeoutException as error:
            raise ToolFailed('the service did not answer in time', sent=not isinstance(error, _UNSENT)) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            problem = f'the service cannot be reached ({type(error).__name__})'
            raise ToolFailed(problem, sent=not isinstance(error, _UNSENT)) from error
        return ToolResult(self._redaction.text(self._answer_in(content))[:MAX_CHARS])

    def _check(self, response: httpx.Response) -> None:
        if response.is_redirect:
            problem = f'the service answered HTTP {response.status_code}, a redirect, which is not followed'
            raise ToolFailed(problem, sent=response.status_code not in _ASKS_AGAIN)  # 302 and 303 may mean: done, see
        if response.status_code == httpx.codes.NOT_FOUND:
            raise ToolFailed('the service knows nothing by these arguments (HTTP 404)')
        if not response.is_success:
            raise ToolFailed(f'the service answered HTTP {response.status_code}', sent=response.is_server_error)

    async def _read(self, response: httpx.Response) -> bytes:
        content = b''
        async for part in response.aiter_bytes():
            content += part
            if len(content) > self._request.max_bytes:
                raise ToolFailed('the service answered with more than can be read', sent=True)
        return content

    def _answer_in(self, content: bytes) -> str:
        """The field of the response that is the answer, as text."""
        path = self._request.answer
        text = content.decode('utf-8', errors='replace')
        if not path:
            return text
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ToolFailed('the service did not answer in JSON', sent=True) from error
        for step in path.split('.'):
            try:
                value = value[int(step)] if isinstance(value, list) else value[step]
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise ToolFailed(f'the service gave no {path!r}', sent=True) from error
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
