"""A curve played against an environment, and what is recorded of it."""
