"""What a client is told when its turn is not answered, in OpenAI's shape."""
from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from pace_ros.serving.admission import SOON
from pace_ros.serving.chat_request import RequestError, TooLarge
from pace_ros.serving.conversations import TooMany
from pace_ros.serving.identity import IdentityError
from pace_ros.serving.replica_errors import ReplicaDown, ReplicaError, ReplicaRefused
from pace_ros.serving.seating import Refused

SERVERS = range(500, 600)  # status codes that are not the request's fault
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class HungUp(ConnectionAbortedError):
    """The client has hung up: nobody reads what it is told."""


class Told(NamedTuple):
    """HTTP's status, a sentence, headers."""

    status: int
    message: str
    headers: Mapping[str, str] = NO_HEADERS


MISTAKE = Told(500, "The gateway has made a mistake; what it was is in the gateway's log.")
LOST = Told(502, 'The replica that answered was lost.')
LATE = Told(502, 'The turn took too long.')
UNABLE = Told(502, "A replica cannot do what it was asked; why is in the gateway's log.")
REFUSED = 'The request is refused.'
ENDS = Told(503, 'The gateway is ending.', {'retry-after': f'{SOON:g}'})


def told(error: BaseException) -> Told:
    """``MISTAKE`` for what nobody expected; a cancelled turn is one of a gateway that ends."""
    if isinstance(error, HTTPException):
        return Told(error.status_code, str(error.detail), error.headers or NO_HEADERS)
    if isinstance(error, RequestError | IdentityError):
        return Told(413 if isinstance(error, TooLarge) else 400, str(error))
    if isinstance(error, Refused):
        never = math.isinf(error.retry_after)
        return Told(error.status, f'{error}.', NO_HEADERS if never else _after(error.retry_after))
    if isinstance(error, TooMany):
        return Told(429, f'{error}.', _after(SOON))
    if isinstance(error, ReplicaError):
        return _of_replica(error)
    if isinstance(error, HungUp):
        return Told(499, 'The client has hung up.')
    return ENDS if isinstance(error, asyncio.CancelledError) else MISTAKE


def _of_replica(error: ReplicaError) -> Told:
    """What went wrong between gateway and replica is for the log; what is wrong with the request is not."""
    if isinstance(error, ReplicaDown):
        return LOST
    if isinstance(error, ReplicaRefused):
        return Told(error.status, error.words or REFUSED) if error.for_the_request else UNABLE
    return LATE


def _after(seconds: float) -> Mapping[str, str]:
    return {'retry-after': str(math.ceil(seconds))}


def error_response(error: BaseException) -> JSONResponse:
    """The answer to a request."""
    status, message, headers = told(error)
    return JSONResponse(_body(status, message), status_code=status, headers=dict(headers))


def error_event(error: BaseException) -> bytes:
    """The last event of a stream, whose status is long sent: a client must see that this is no end."""
    status, message, _ = told(error)
    return b'data: ' + json.dumps(_body(status, message)).encode() + b'\n\n'


def _body(status: int, message: str) -> dict[str, Any]:
    kind = {429: 'rate_limit_error'}.get(status, 'server_error' if status in SERVERS else 'invalid_request_error')
    return {'error': {'message': message, 'type': kind, 'code': status}}
