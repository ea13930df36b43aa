"""Engines in small: each finds the conversation of a request as its namesake does, and keeps it on one worker."""
from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import httpx
from support import answer

from pace_ros.serving.fleet import Identity
from pace_ros.serving.identity import stated

WORKERS = ('pod-0', 'pod-1', 'pod-2')
PODS = tuple(f'default/{name}' for name in WORKERS)


@dataclass
class Engine:
    """Three workers; ``served`` says which of them got each request, ``told`` what it came with."""

    served: list[str] = field(default_factory=list)
    told: list[httpx.Request] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    bound: dict[str, str] = field(default_factory=dict)

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.handle)

    async def handle(self, request: httpx.Request) -> httpx.Response:
        if request.method == 'DELETE':
            return self.end(request)
        body = json.loads(await request.aread())
        self.told.append(request)
        try:
            worker, headers = self.route(request.headers, body)
        except ValueError as error:
            return httpx.Response(400, json={'error': {'message': str(error)}})
        self.served.append(worker)
        return httpx.Response(200, headers=[('content-type', 'text/event-stream'), *headers], content=answer('Yes.'))

    def route(self, headers: httpx.Headers, body: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
        key = self.key(headers, body)
        if key is None:
            return self.least(), []
        return self.bound.setdefault(key, self.least()), []

    def key(self, headers: httpx.Headers, body: dict[str, Any]) -> str | None:
        raise NotImplementedError

    def end(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(404)

    def least(self) -> str:
        asked = Counter(self.served)
        return min(WORKERS, key=lambda worker: asked[worker])


class Gateway(Engine):
    """Ours, by its own reading of the request."""

    def key(self, headers: httpx.Headers, body: dict[str, Any]) -> str | None:
        return stated(headers, body, Identity())

    def end(self, request: httpx.Request) -> httpx.Response:
        key = unquote(request.url.path.removeprefix('/v1/conversations/'))
        self.ended.append(key)
        return httpx.Response(204 if self.bound.pop(key, None) else 404)


class ProductionStack(Engine):
    """The session router of vLLM production-stack, --session-key x-user-id: a hash decides, without a key the load."""

    def route(self, headers: httpx.Headers, body: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
        key = headers.get('x-user-id') or body.get('x-user-id')
        if key is None:
            return self.least(), []
        return WORKERS[int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], 'big') % len(WORKERS)], []


class Smg(Engine):
    """SGLang's router, policy manual: the field rid of a body outranks the header."""

    def key(self, headers: httpx.Headers, body: dict[str, Any]) -> str | None:
        return body.get('rid') or headers.get('x-smg-routing-key')


class LlmD(Engine):
    """session-affinity-scorer, strategy encoded_endpoint_header: stateless, the client brings the pod's name back."""

    def route(self, headers: httpx.Headers, body: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
        worker = self.decoded(self.brought(headers)) or self.least()
        token = base64.b64encode(f'default/{worker}'.encode()).decode()
        return worker, self.given(token)

    def decoded(self, token: str) -> str:
        try:
            pod = base64.b64decode(token, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise ValueError(f'token {token}') from error
        return pod.removeprefix('default/') if pod in PODS else ''

    def brought(self, headers: httpx.Headers) -> str:
        return headers.get('x-session-token', '')

    def given(self, token: str) -> list[tuple[str, str]]:
        return [('x-session-token', token)]


class LlmDPrefill(LlmD):
    """With prefill apart there are two tokens; both must come back."""

    def brought(self, headers: httpx.Headers) -> str:
        token = super().brought(headers)
        if headers.get('x-session-token-prefill', '') != (token and 'cHJlZmlsbA=='):
            raise ValueError('the tokens are not of one response')
        return token

    def given(self, token: str) -> list[tuple[str, str]]:
        return [*super().given(token), ('x-session-token-prefill', 'cHJlZmlsbA==')]


class LlmDById(Engine):
    """session-affinity-scorer, strategy session_id: stateful, the client's own identity, by default in x-session-id."""

    def key(self, headers: httpx.Headers, body: dict[str, Any]) -> str | None:
        return headers.get('x-session-id')


class LiteLlm(Engine):
    """The proxy reads the header into metadata.session_id, by which session_affinity pins."""

    def key(self, headers: httpx.Headers, body: dict[str, Any]) -> str | None:
        found = headers.get('x-litellm-trace-id') or headers.get('x-litellm-session-id')
        if found is not None and not re.fullmatch(r'[A-Za-z0-9_-]{8,}', found):
            raise ValueError(f'no session id: {found}')
        return found


class Dynamo(Engine):
    """A frontend with --router-session-affinity-ttl-secs; identities of at most 256 bytes."""

    def key(self, headers: httpx.Headers, body: dict[str, Any]) -> str | None:
        found = headers.get('x-dynamo-session-id')
        if found is not None and len(found.encode()) > 256:
            raise ValueError('session id too long')
        return found


class ByField(Engine):
    """Some other engine, which reads a field of the body."""

    def key(self, headers: httpx.Headers, body: dict[str, Any]) -> str | None:
        return (body.get('metadata') or {}).get('visit')


class ByHeader(Engine):
    """Some other engine, which reads a header of the request and sets a cookie that must not come back."""

    def route(self, headers: httpx.Headers, body: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
        if 'cookie' in headers:
            raise ValueError(f'cookie {headers["cookie"]}')
        worker, given = super().route(headers, body)
        return worker, [*given, ('set-cookie', 'visit=1; Path=/')]

    def key(self, headers: httpx.Headers, body: dict[str, Any]) -> str | None:
        return headers.get('x-visit')
