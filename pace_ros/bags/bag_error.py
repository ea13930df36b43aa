"""What is said where a bag cannot be used."""
from __future__ import annotations


class BagError(ValueError):
    """A bag that cannot be read or written; the message is a sentence that names the path."""
