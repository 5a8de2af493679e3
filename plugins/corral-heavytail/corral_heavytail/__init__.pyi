from corral_heavytail.bases.menu import Menu as Menu
from corral_heavytail.bases.tofu import Tofu as Tofu
from corral_heavytail.environments.pareto import ParetoArms as ParetoArms
from corral_heavytail.environments.prize import PrizeArms as PrizeArms
from corral_heavytail.environments.student_t import StudentTArms as StudentTArms
