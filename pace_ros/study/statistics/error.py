"""What the rows do not allow to be said."""
from __future__ import annotations

from pace_ros.study.refusal import Refusal


class StatisticsError(Refusal):
    """Rows that are missing, or that cannot be matched; the sentence names them."""
