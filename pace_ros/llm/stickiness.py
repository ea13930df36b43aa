"""What a request carries so that its conversation is answered where its prompt is cached (design section 9)."""
from __future__ import annotations

import http.cookiejar
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx

from pace_ros.config_levels import L2, check_custom_sticky

REMEMBERED = 1000  # conversations
LONGEST_TOKEN = 2048  # characters of a token that is echoed
HEDGE = '-2'  # of a visit's identity: its second request for the same turn


def new_visit() -> str:
    """An identity for one visit: random, so that it is nobody else's and says nothing of anybody."""
    return secrets.token_hex(16)


def hedge_of(conversation: str) -> str:
    """The identity of a visit's hedges: never queued behind the first request, with a place and tokens of their own."""
    return conversation and conversation + HEDGE


def no_cookies() -> http.cookiejar.CookieJar:
    """A jar that takes and gives none: what a server says to one conversation is not repeated in another."""
    return http.cookiejar.CookieJar(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))


@dataclass(frozen=True)
class Sticky:
    """Where an endpoint looks for the conversation.

    ``headers`` and ``fields`` of the body (dotted) carry its identity; ``echo`` are response headers whose last value
    goes back with the conversation's later requests. ``ends``: the endpoint keeps a place for every conversation until
    it is told of the end.
    """

    headers: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    echo: tuple[str, ...] = ()
    ends: bool = False


#: What each engine looks at, and where that is written:
#:
#: - gateway: ``x-session-id`` is the first name of ``pace_ros.serving.fleet.Identity``.
#: - vllm-production-stack: the router's ``--routing-logic session --session-key x-user-id`` looks for that header, then
#:   for a field of the body of that name (``vllm_router/routers/routing_logic.py``, release 0.1.5 and later); the name
#:   is the deployment's choice, ``x-user-id`` that of its tutorials. Without it the least asked engine is taken.
#: - sglang: ``x-smg-routing-key``, read by the policies manual and consistent_hashing of SGLang's router, and by any
#:   policy with ``--routing-key-override`` (SMG documentation, Sticky Sessions and Routing Keys); the field ``rid`` of
#:   a body outranks it.
#: - llm-d: ``x-session-token`` of a response names the pod, and the client echoes it; ``x-session-token-prefill`` where
#:   prefill is apart (llm-d-router, README of session-affinity-scorer, strategy encoded_endpoint_header). With 0.9 and
#:   later; earlier ones set it when a stream's headers have gone. For the strategy session_id, which takes an identity
#:   and came after 0.9: custom.
#: - litellm: the proxy takes ``x-litellm-session-id`` for ``metadata.session_id`` (``litellm_pre_call_utils.py``,
#:   ``get_chain_id_from_headers``, 1.98), by which ``optional_pre_call_checks: [session_affinity]`` pins a deployment;
#:   ``x-litellm-trace-id`` outranks it.
#: - dynamo: ``X-Dynamo-Session-ID``, kept to one worker by a frontend with ``--router-session-affinity-ttl-secs``
#:   (Dynamo 1.3 and later, Maintain Session Affinity; identities of at most 256 bytes).
PRESETS = {
    'none': Sticky(),
    'gateway': Sticky(headers=('x-session-id',), ends=True),
    'vllm-production-stack': Sticky(headers=('x-user-id',)),
    'sglang': Sticky(headers=('x-smg-routing-key',)),
    'llm-d': Sticky(echo=('x-session-token', 'x-session-token-prefill')),
    'litellm': Sticky(headers=('x-litellm-session-id',)),
    'dynamo': Sticky(headers=('x-dynamo-session-id',)),
}


def sticky_of(l2: L2, preset: str) -> Sticky:
    """The preset of that name; ``custom`` is read from ``l2``. Raises ConfigError for a name that cannot be sent."""
    if preset != 'custom':
        return PRESETS[preset]
    check_custom_sticky(l2)
    return Sticky(headers=tuple(filter(None, [l2.sticky_header])), fields=tuple(filter(None, [l2.sticky_field])))


class Stickiness:
    """One endpoint's knowledge of the conversations it was asked for; the least recent are forgotten."""

    def __init__(self, preset: Callable[[], Sticky]) -> None:
        self._preset = preset
        self._known: OrderedDict[str, dict[str, str]] = OrderedDict()  # tokens by header

    def __len__(self) -> int:
        """Conversations remembered."""
        return len(self._known)

    def passing(self) -> str:
        """An identity for a request that belongs to no conversation, empty where it needs none."""
        return new_visit() if self._preset().ends else ''

    def marked(self, conversation: str, body: Mapping[str, object]) -> tuple[dict[str, str], dict[str, object]]:
        """The headers and the body of a request of this conversation, empty for none."""
        preset, marked = self._preset(), dict(body)
        if not conversation or preset == PRESETS['none']:
            return {}, marked
        tokens = self._known.setdefault(conversation, {})
        self._known.move_to_end(conversation)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        for name in preset.fields:
            marked = _with(marked, name.split('.'), conversation)
        headers = dict.fromkeys(preset.headers, conversation)
        headers |= {name: tokens[name] for name in preset.echo if name in tokens}
        return headers, marked

    def heard(self, conversation: str, headers: httpx.Headers) -> None:
        """Keep the tokens of a response for the conversation's next request."""
        tokens = self._known.get(conversation)
        if tokens is not None:
            told = {name: headers.get(name, '') for name in self._preset().echo}
            tokens.update({name: value for name, value in told.items() if _is_sendable(value)})

    def forget(self, conversation: str) -> bool:
        """The conversation is over; says whether the endpoint keeps a place for it and wants to know."""
        return self._known.pop(conversation, None) is not None and self._preset().ends


def _is_sendable(value: str) -> bool:
    return 0 < len(value) <= LONGEST_TOKEN and value.isascii() and value.isprintable()


def _with(body: Mapping[str, object], path: list[str], value: str) -> dict[str, object]:
    """A copy of ``body`` with ``value`` at ``path``; what stands there and is no mapping gives way."""
    name, *rest = path
    if not rest:
        return {**body, name: value}
    inner = body.get(name)
    return {**body, name: _with(inner if isinstance(inner, Mapping) else {}, rest, value)}
