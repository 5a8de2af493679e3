"""Episodes in finitely many states: policies that are tables, and bases that fill them."""
