"""The ``Retry-After`` header (RFC 9110, section 10.2.3) as servers really send it."""
from __future__ import annotations

import math
from datetime import timezone
from email.utils import parsedate_to_datetime


def retry_after_seconds(value: str | None, wall: float) -> float | None:
    """Seconds to wait from ``wall`` (s since the epoch): never negative, None if the header is absent or unreadable."""
    if value is None:
        return None
    try:
        seconds = float(value.strip())
    except ValueError:
        try:
            moment = parsedate_to_datetime(value.strip())
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        seconds = moment.timestamp() - wall
    return max(0.0, seconds) if math.isfinite(seconds) else None
