"""Which kernels play in the tests: numba's in this process, if it is installed, and numpy's in those that tests start.

Loading compiled kernels takes a second, too long for hundreds of short processes. Both give the same bits, so whatever
compares a process with this one compares the kernels as well. `CORRAL_KERNELS` decides for all.
"""

import os

from corral_core.kernels import twins

if twins.bind() == "numba" and not twins.wish():
    os.environ[twins.VARIABLE] = "numpy"
