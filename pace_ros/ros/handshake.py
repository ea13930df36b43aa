"""Knowing that another node knows of this one's publishers and subscriptions, which discovery does not tell."""
from __future__ import annotations

from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.node import Node

REPEAT = 0.5  # s between requests that may have been sent too early


class Handshake:
    """A round trip to the node that publishes a topic, over a service client made last.

    Endpoints are announced in the order in which they were made, so whoever answers this client knows all that this
    node had made before it.
    """

    def __init__(self, node: Node, topic: str) -> None:
        """``topic`` is one that the other node publishes."""
        self._node = node
        self._topic = topic
        self._client: Any = None
        self._sent = 0.0
        self.answered = False

    def poll(self, now: float) -> bool:
        """Send or repeat the request where the other node is there; says whether it has answered. ``now`` is in s."""
        if self._client is None:
            ends = self._node.get_publishers_info_by_topic(self._topic)
            if not ends or ends[0].node_name.startswith('_'):  # its name comes a little later
                return False
            name = f'{ends[0].node_namespace.rstrip("/")}/{ends[0].node_name}/get_parameters'
            self._client = self._node.create_client(GetParameters, name)
        if not self.answered and now >= self._sent + REPEAT and self._client.service_is_ready():
            self._sent = now
            self._client.call_async(GetParameters.Request()).add_done_callback(self._on_answer)
        return self.answered

    def close(self) -> None:
        """Take the client down."""
        if self._client is not None:
            self._node.destroy_client(self._client)
            self._client = None

    def _on_answer(self, _future: Any) -> None:
        self.answered = True
