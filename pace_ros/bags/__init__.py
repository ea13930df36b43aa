"""Bags: sessions recorded on the showroom floor, read, replayed and compared without a ROS installation.

The packages of requirements/study.txt are loaded with the first name that needs them: names of topics need none.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pace_ros.bags.bag_error import BagError
    from pace_ros.bags.reading import Stamped, is_bag, read_messages
    from pace_ros.bags.writing import BagWriter

__all__ = ['BagError', 'BagWriter', 'Stamped', 'is_bag', 'read_messages']
_HOMES = {'BagError': 'bag_error', 'BagWriter': 'writing', 'Stamped': 'reading', 'is_bag': 'reading',
          'read_messages': 'reading'}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(importlib.import_module(f'{__name__}.{_HOMES[name]}'), name)
