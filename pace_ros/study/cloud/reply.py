"""What the simulated cloud sends back."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pace_ros.study.cloud.generation import Generation

EVENTS = 'text/event-stream'
JSON = 'application/json'


@dataclass(frozen=True)
class Reply:
    """A response: its head after ``delay`` s, then its body, or ``stream``."""

    status: int
    media: str = JSON
    body: bytes = b''
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    stream: Generation | None = None
