"""How a run shows its progress on the terminal."""
