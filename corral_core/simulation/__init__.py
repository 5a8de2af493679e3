"""Play a curve against an environment, and record its numbers."""
