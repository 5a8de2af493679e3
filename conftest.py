"""Which kernels play in the tests: numba's in this process, if it is installed, and numpy's in those that tests start.

Loading compiled kernels takes a second, too long for hundreds of short processes. Both give the same bits, so whatever
compares a process with this one compares the kernels as well. `CORRAL_KERNELS` decides for all.
"""

import os
import signal

from corral_core.kernels import twins

if twins.bind() == "numba" and not twins.wish():
    os.environ[twins.VARIABLE] = "numpy"

# A suite that is started in the background of a script inherits an ignored Ctrl-C, and so would the commands it tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
