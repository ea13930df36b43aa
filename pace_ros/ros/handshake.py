"""Knowing that other nodes know of this one's publishers and subscriptions, which discovery does not tell."""
from __future__ import annotations

from functools import partial
from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.node import Node

REPEAT = 0.5  # s between requests that may have been sent too early


def full_name(end: Any) -> str:
    """The full name of the node behind an endpoint; empty as long as it is not known, a little after the endpoint."""
    return '' if end.node_name.startswith('_') else f'{end.node_namespace.rstrip("/")}/{end.node_name}'


class Handshake:
    """A round trip to each node that publishes one of some topics, over service clients made last.

    Endpoints are announced in the order in which they were made, so whoever answers such a client knows all that this
    node had made before it.
    """

    def __init__(self, node: Node, *topics: str) -> None:
        """``topics`` are those that the other nodes publish."""
        self._node = node
        self._topics = topics
        self._clients: dict[str, Any] = {}
        self._sent: dict[str, float] = {}
        self._met: set[str] = set()

    def poll(self, now: float) -> bool:
        """Send or repeat requests; says whether somebody has answered, and everybody who can. ``now`` is in s."""
        ends = (end for topic in self._topics for end in self._node.get_publishers_info_by_topic(topic))
        names = {name for end in ends if (name := full_name(end))}
        waiting = False
        for name in names - self._met:
            if name not in self._clients:
                self._clients[name] = self._node.create_client(GetParameters, f'{name}/get_parameters')
            if not self._clients[name].service_is_ready():
                continue
            waiting = True
            if now >= self._sent.get(name, 0.0) + REPEAT:
                self._sent[name] = now
                future = self._clients[name].call_async(GetParameters.Request())
                future.add_done_callback(partial(self._on_answer, name))
        return bool(self._met) and not waiting

    def close(self) -> None:
        """Take the clients down."""
        for client in self._clients.values():
            self._node.destroy_client(client)
        self._clients.clear()

    def _on_answer(self, name: str, _future: Any) -> None:
        self._met.add(name)
