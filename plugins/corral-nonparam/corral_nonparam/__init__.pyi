from corral_nonparam.bases.knn_ucb import KnnUcb as KnnUcb
from corral_nonparam.environments.lipschitz import Lipschitz as Lipschitz
