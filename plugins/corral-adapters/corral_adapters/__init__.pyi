from corral_adapters.bases.mabwiser import MabWiser as MabWiser
from corral_adapters.bases.river import River as River
from corral_adapters.environments.gymnasium import Gymnasium as Gymnasium
from corral_adapters.environments.gymnasium_table import GymnasiumTable as GymnasiumTable
