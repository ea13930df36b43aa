"""What the tests of this room share."""
from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_certificates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A plain HTTP server needs none, and loading them takes longer than most tests."""
    monkeypatch.delenv('SSL_CERT_FILE', raising=False)
    monkeypatch.setenv('SSL_CERT_DIR', str(tmp_path))
