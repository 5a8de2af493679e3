"""Episodes in finitely many states: planning, environments, tables as policies, and bases that use them."""
