"""The policies by name: conversation-pinned (ConServe) and those it is compared with."""
from __future__ import annotations

from collections.abc import Callable, Mapping

from pace_ros.serving.placement import Policy, Turn
from pace_ros.serving.policies.collocated import Collocated
from pace_ros.serving.policies.disaggregated import Disaggregated
from pace_ros.serving.policies.least_loaded import LeastLoaded
from pace_ros.serving.policies.pinned import Pinned
from pace_ros.serving.policies.predicted import MOVE, TOKEN, Predicted
from pace_ros.serving.policies.round_robin import RoundRobin

__all__ = ['MAKERS', 'Collocated', 'Disaggregated', 'LeastLoaded', 'Pinned', 'Predicted', 'RoundRobin', 'make_policy']

MAKERS: Mapping[str, Callable[[], Policy]] = {
    each.name: each for each in (Pinned, Collocated, Disaggregated, LeastLoaded, RoundRobin)
}


def make_policy(
    name: str, *, prediction_error: float = 0.0, seed: int = 0, oracle: Callable[[Turn], float] | None = None,
    token: float = TOKEN, move: float = MOVE,
) -> Policy:
    """The policy of that name; what else is given is for ``predicted``. Raises KeyError for an unknown name."""
    if name == Predicted.name:
        return Predicted(error=prediction_error, seed=seed, oracle=oracle, token=token, move=move)
    return MAKERS[name]()
