"""What the rows do not allow to be said."""
from __future__ import annotations


class StatisticsError(ValueError):
    """Rows that are missing, or that cannot be matched; the sentence names them."""
