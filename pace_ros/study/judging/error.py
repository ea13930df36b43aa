"""What can go wrong with the judging of a run."""
from __future__ import annotations

from pace_ros.study.refusal import Refusal


class JudgingError(Refusal):
    """Rows, scores or a rubric that cannot be used, or a judge that gives no verdict; one sentence names it."""
