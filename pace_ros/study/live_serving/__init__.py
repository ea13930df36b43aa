"""Real fleets on this machine, visitors that talk to them, and what must be true afterwards."""
