"""Studies: what the core does over hours that nobody wants to wait for."""
