"""Episodes in finitely many states: planning, environments, policies that are tables, and bases that fill them."""
