"""A fleet in simulated time: the gateway's own ledger, policies and admission, on replicas that only cost time."""
