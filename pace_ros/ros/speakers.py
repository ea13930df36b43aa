"""The nodes that publish turns, asked whether what was said may be recorded."""
from __future__ import annotations

import time
from collections import defaultdict
from functools import partial
from typing import Any

from rcl_interfaces.msg import ParameterEvent, ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.qos import qos_profile_parameter_events

from pace_ros.bags.session import TURN
from pace_ros.bags.text_permissions import Speaker, TextPermissions
from pace_ros.ros.handshake import full_name

PARAMETER = 'record.text'


class Speakers:
    """Asks every node that publishes a ``Turn`` for its ``record.text``, and listens for changes of it.

    ``topics`` are those of the turns.
    """

    def __init__(self, node: Node, permissions: TextPermissions) -> None:
        self._node = node
        self._permissions = permissions
        self._clients: dict[str, Any] = {}
        self.topics: frozenset[str] = frozenset()
        self._ear = node.create_subscription(
            ParameterEvent, '/parameter_events', self._on_event, qos_profile_parameter_events)

    def poll(self, now: float) -> None:
        """Look who speaks and ask those who are to be asked."""
        present = self._present()
        self._permissions.look(present)
        for gone in self._clients.keys() - present.keys():
            self._node.destroy_client(self._clients.pop(gone))
        for name in self._permissions.due(now):
            if name not in self._clients:
                self._clients[name] = self._node.create_client(GetParameters, f'{name}/get_parameters')
            if self._clients[name].service_is_ready():
                self._permissions.asked(name, now)
                future = self._clients[name].call_async(GetParameters.Request(names=[PARAMETER]))
                future.add_done_callback(partial(self._on_answer, name, now))

    def _present(self) -> dict[str, Speaker]:
        topics = frozenset(topic for topic, kinds in self._node.get_topic_names_and_types() if TURN in kinds)
        namespaces: dict[str, set[str]] = defaultdict(set)
        endpoints: dict[str, set[bytes]] = defaultdict(set)
        spoken = set()
        for topic in topics:
            for end in self._node.get_publishers_info_by_topic(topic):
                if end.topic_type == TURN:
                    name = full_name(end)
                    spoken.add(topic)
                    namespaces[name] |= {topic.rpartition('/')[0], *([end.node_namespace.rstrip('/')] if name else [])}
                    endpoints[name].add(bytes(end.endpoint_gid))
        self.topics = frozenset(spoken)
        return {name: Speaker(frozenset(namespaces[name]), frozenset(endpoints[name])) for name in namespaces}

    def _on_answer(self, name: str, asked: float, future: Any) -> None:
        answer = future.result()
        if answer is not None:  # one that does not know the parameter cannot permit anything
            keep = bool(answer.values) and answer.values[0].bool_value
            self._permissions.answered(name, keep=bool(keep), asked=asked)

    def _on_event(self, event: ParameterEvent) -> None:
        for each in (*event.new_parameters, *event.changed_parameters, *event.deleted_parameters):
            if each.name == PARAMETER:
                keep = each.value.type == ParameterType.PARAMETER_BOOL and each.value.bool_value
                self._permissions.changed(event.node, keep=bool(keep), now=time.monotonic())
