"""Corral: choose among bandit algorithms while they run."""

__version__ = "0.1.0"

# What keeps BLAS to one thread, in an environment in which numpy is then imported.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)
