"""Sentences that stand under several tables."""
from __future__ import annotations

GATE_NOTE = (
    'PACE-gated equals PACE-full until 11 windows of 50 requests have passed; the table on the gate has steady load '
    'after that. ')
