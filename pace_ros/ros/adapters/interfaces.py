"""Finding the interface definitions of packages that may not be installed."""
from __future__ import annotations

import importlib
from typing import Any

from rclpy.node import Node

NONE = 'none'  # the name that leaves an adapter out


def find_interface(node: Node, package: str, kind: str, name: str) -> Any | None:
    """The class ``name`` of ``package.kind`` (kind: action, msg), None where the package is not installed."""
    try:
        return getattr(importlib.import_module(f'{package}.{kind}'), name)
    except (ImportError, AttributeError):
        node.get_logger().debug(f'{package} is not installed: its {name} is not spoken')
        return None
