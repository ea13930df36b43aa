"""What is seen of a turn when it arrives: its prompt's tokens, and as many as it may be answered with."""
from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio

from pace_ros.serving.admission import SOON
from pace_ros.serving.conversations import Conversation
from pace_ros.serving.placement import Turn
from pace_ros.serving.replica_errors import ReplicaError, ReplicaRefused, TimeUp
from pace_ros.serving.seating import Refused

if TYPE_CHECKING:
    from pace_ros.serving.gateway import Gateway

log = logging.getLogger(__name__)


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
    """Any replica that is well tells the prompt's tokens: all have one model."""
    idlest = sorted(gateway.states.values(), key=lambda each: (each.untold, each.misses, each.waiting, each.streams))
    for state in idlest:
        if not state.well:
            continue
        try:
            tokens = await state.client.tokens(body, until=until)
        except ReplicaError as error:
            if isinstance(error, TimeUp) or (isinstance(error, ReplicaRefused) and error.for_the_request):
                raise
            log.warning('%s', error)
            state.untold += 1
            await gateway.blame(state, error)
        else:
            state.untold = 0
            return tokens
    raise Refused('no replica is well', SOON, outage=True)


def _answer(gateway: Gateway, conversation: Conversation, body: Mapping[str, Any], prompt: int) -> int:
    """Tokens it may be answered with: as many as it asks for, and there is room for where it is answered."""
    fleet, home = gateway.fleet, conversation.home
    at = [each for each in fleet.decoders if home is None or each.name == home.replica] or fleet.decoders
    room = max(each.context for each in at) - prompt
    return max(1, min(int(body.get('max_tokens', fleet.settings.limits.answer)), room))
