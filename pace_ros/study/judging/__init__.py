"""Whether answers are right, how good they are, and whether they are stale."""
