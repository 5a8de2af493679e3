"""The round of Stochastic CORRAL for all rows at once: asking, telling and judging."""
