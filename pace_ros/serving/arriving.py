"""What is seen of a turn when it arrives: its prompt's tokens, and as many as it may be answered with."""
from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio

from pace_ros.serving.admission import SOON
from pace_ros.serving.conversations import Conversation
from pace_ros.serving.placement import Turn
from pace_ros.serving.replica_errors import ReplicaError, ReplicaRefused, TemplateFailed, TimeUp
from pace_ros.serving.replica_state import ReplicaState
from pace_ros.serving.seating import Refused

if TYPE_CHECKING:
    from pace_ros.serving.gateway import Gateway

log = logging.getLogger(__name__)
BAD_REQUEST = 400


async def seen(
    gateway: Gateway, conversation: Conversation, body: Mapping[str, Any], until: float
) -> tuple[Turn, list[int]]:
    """A turn and its prompt, before ``until`` (monotonic, s). Raises Refused, ReplicaRefused or TimeUp."""
    gateway.seating.check_line(conversation)
    with anyio.move_on_after(max(0.0, until - gateway.clock.monotonic())) as scope:
        await gateway.telling.acquire()
    if scope.cancelled_caught:
        raise Refused('too many prompts come in at once', SOON)
    try:
        prompt = await _told(gateway, body, until)
    finally:
        gateway.telling.release()
    answer = _answer(gateway, conversation, body, len(prompt))
    return Turn(conversation.key, conversation.turns + 1, len(prompt), answer), prompt


async def _told(gateway: Gateway, body: Mapping[str, Any], until: float) -> list[int]:
    """Any replica that is well tells the prompt's tokens: all have one model. That the request is to blame where a
    template fails is believed of two, or of the only one.
    """
    doubted: tuple[ReplicaState, TemplateFailed] | None = None
    idlest = sorted(gateway.states.values(), key=lambda each: (each.untold, each.misses, each.waiting, each.streams))
    for state in idlest:
        if not state.well:
            continue
        try:
            tokens = await state.client.tokens(body, until=until)
        except TemplateFailed as error:
            if doubted is not None:
                break
            doubted = state, error
        except ReplicaError as error:
            if isinstance(error, TimeUp) or (isinstance(error, ReplicaRefused) and error.for_the_request):
                raise
            await _untold(gateway, state, error)
        else:
            state.untold = 0
            if doubted is not None:
                await _untold(gateway, *doubted)
            return tokens
    if doubted is not None:
        failed = doubted[1]
        raise ReplicaRefused(str(failed), status=BAD_REQUEST, words=failed.words)
    raise Refused('no replica is well', SOON, outage=True)


async def _untold(gateway: Gateway, state: ReplicaState, error: ReplicaError) -> None:
    log.warning('%s', error)
    state.untold += 1
    await gateway.blame(state, error)


def _answer(gateway: Gateway, conversation: Conversation, body: Mapping[str, Any], prompt: int) -> int:
    """Tokens it may be answered with: as many as it asks for, and there is room for where it is answered."""
    fleet, home = gateway.fleet, conversation.home
    able = [each for each in fleet.replicas if gateway.policy.answers(decodes=each.decodes)]
    at = [each for each in able if home is None or each.name == home.replica] or able
    room = max(each.context for each in at) - prompt
    return max(1, min(int(body.get('max_tokens', fleet.settings.limits.answer)), room))
