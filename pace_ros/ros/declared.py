"""Fixed ROS parameters derived from any tree of settings, for nodes that read them once at start."""
from __future__ import annotations

import dataclasses
from typing import Protocol, TypeVar

from rclpy.node import Node

from pace_ros.ros.parameters import declare, warn_of_unknown
from pace_ros.settings import settings_of, with_values


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
    values = {each.name: declare(node, dataclasses.replace(each, read_only=True)) for each in settings_of(tree)}
    warn_of_unknown(node, values)
    return with_values(tree(), values)
