"""Fixed ROS parameters derived from any tree of settings, for nodes that read them once at start."""
from __future__ import annotations

import dataclasses
from typing import Protocol, TypeVar

from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.node import Node

from pace_ros.ros.parameters import descriptor
from pace_ros.settings import ConfigError, Setting, settings_of, with_values

FOREIGN = ('use_sim_time', 'qos_overrides.', 'start_type_description_service')  # declared by rclpy itself


class Tree(Protocol):
    """A frozen dataclass whose fields are settings, or trees of them, all with defaults."""

    def __init__(self) -> None:
        """Every setting at its default."""
        ...


T = TypeVar('T', bound=Tree)


def declare_tree(node: Node, tree: type[T]) -> T:
    """Declare every setting of ``tree`` as a read-only parameter of ``node`` and return the tree in force.

    A parameter that was given but does not exist is warned of. Raises ConfigError with a sentence that names the
    parameter at fault.
    """
    values = {each.name: _declare(node, each) for each in settings_of(tree)}
    for name in set(node._parameter_overrides) - set(values):  # noqa: SLF001  they are kept nowhere else
        if not name.startswith(FOREIGN):
            node.get_logger().warning(f"There is no parameter '{name}'; it is ignored.")
    return with_values(tree(), values)


def _declare(node: Node, setting: Setting) -> object:
    fixed = descriptor(dataclasses.replace(setting, read_only=True))
    # rclpy cannot tell the type of an empty list; the empty string in it is dropped again on reading.
    default = list(setting.default) or [''] if isinstance(setting.default, tuple) else setting.default
    try:
        return node.declare_parameter(setting.name, default, fixed).value
    except (
        InvalidParameterTypeException, InvalidParameterValueException, ParameterUninitializedException
    ) as error:
        override = node._parameter_overrides.get(setting.name)  # noqa: SLF001  the refused value is kept nowhere else
        setting.checked(override.value if override is not None else None)  # says it better than rclpy
        raise ConfigError(f"Parameter '{setting.name}': {error}") from error
