from corral_tabular.bases.epsilon_greedy_planning import EpsilonGreedyPlanning as EpsilonGreedyPlanning
from corral_tabular.bases.psrl import Psrl as Psrl
from corral_tabular.bases.q_learning import QLearning as QLearning
from corral_tabular.bases.ucrl2 import Ucrl2 as Ucrl2
from corral_tabular.environments.riverswim import RiverSwim as RiverSwim
