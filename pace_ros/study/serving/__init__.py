"""The study of conversation-level serving: what real replicas cost, what a fleet of them does, and its report."""
