"""Studies: what sessions of the robot show, and what the core does over hours that nobody wants to wait for.

``load_turns`` and ``load_onsets`` give logs and bags as pandas tables, ``latencies`` PTFR and PL of every turn and
modality; they are imported when first used, so that a study without tables needs no pandas.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pace_ros.study.frames import load_onsets, load_turns
    from pace_ros.study.latency import latencies

__all__ = ['latencies', 'load_onsets', 'load_turns']


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for."""
    if name in ('load_turns', 'load_onsets'):
        from pace_ros.study import frames  # noqa: PLC0415

        return getattr(frames, name)
    if name == 'latencies':
        from pace_ros.study.latency import latencies  # noqa: PLC0415

        return latencies
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
