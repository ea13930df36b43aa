"""A dialogue node that stays for all tests of a module; each finds it as it was started."""
from __future__ import annotations

from collections.abc import Mapping

from node_process import Cloud, Listener, Robot
from rcl_interfaces import msg
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger
from support import Script

from pace_msgs.srv import EndConversation


class Resident:
    """The node, the cloud it asks, and a listener of the present test's own."""

    def __init__(self, node: Robot, cloud: Cloud, listener: Listener) -> None:
        self.node = node
        self.heard = listener
        self._cloud = cloud
        self._before: dict[str, msg.ParameterValue] = {}

    @property
    def requests(self) -> list[dict[str, object]]:
        """What the cloud has been asked since the script was given."""
        assert self._cloud.server is not None
        return self._cloud.server.requests

    def plays(self, *scripts: Script | bytes) -> None:
        """Give the cloud its scripts."""
        self._cloud.play(*scripts)

    def put(self, values: Mapping[str, object]) -> None:
        """Set parameters for the rest of the test."""
        names = [name for name in values if name not in self._before]
        found = self.heard.call(GetParameters, 'dialogue/get_parameters', GetParameters.Request(names=names)).values
        self._before |= dict(zip(names, found, strict=True))
        self._set([Parameter(name, value=value).to_parameter_msg() for name, value in values.items()])

    def restore(self) -> None:
        """End every turn and conversation, empty the cache, and set back the parameters."""
        self.heard.until(lambda: self.heard.call(Trigger, 'dialogue/stop').message == '0 turns stopped')
        for name in {'', *(turn.conversation_id for turn in self.heard.heard['turn'])}:
            self.heard.call(EndConversation, 'dialogue/end_conversation', EndConversation.Request(conversation_id=name))
        assert self.heard.call(Trigger, 'dialogue/clear_cache').success
        self._set([msg.Parameter(name=name, value=value) for name, value in self._before.items()])

    def _set(self, parameters: list[msg.Parameter]) -> None:
        request = SetParameters.Request(parameters=parameters)
        for each in self.heard.call(SetParameters, 'dialogue/set_parameters', request).results:
            assert each.successful, each.reason
