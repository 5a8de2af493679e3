"""Mean, standard deviation and standard error over replicates, chunk by chunk."""

from __future__ import annotations

import numpy as np

from corral_core.rows import Array


class Moments:
    """Mean and standard deviation over replicates, chunk by chunk: memory does not grow with their number.

    Two chunks join as in Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
    variances", 1979: with d the difference of means, m2 = m2_a + m2_b + d^2 n_a n_b/(n_a + n_b).
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean: Array = np.zeros(())
        self._m2: Array = np.zeros(())

    def add(self, values: Array) -> None:
        """Add the values of more replicates. Replicates are the first axis."""
        values = np.asarray(values, dtype=np.float64)
        count, mean = len(values), values.mean(axis=0)
        difference, total = mean - self.mean, self.count + count
        self._m2 = self._m2 + ((values - mean) ** 2).sum(axis=0) + difference**2 * (self.count * count / total)
        self.mean = self.mean + difference * (count / total)
        self.count = total

    @property
    def deviation(self) -> Array:
        """Standard deviation over replicates; NaN if there is only one."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.sqrt(self._m2 / np.float64(self.count - 1)))

    @property
    def error(self) -> Array:
        """Standard error of the mean; NaN if there is only one replicate."""
        return np.asarray(self.deviation / np.sqrt(self.count))
