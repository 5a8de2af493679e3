from corral_lsvi.bases.lsvi_ucb import LsviUcb as LsviUcb
from corral_lsvi.environments.nested import NestedLinearMdp as NestedLinearMdp
