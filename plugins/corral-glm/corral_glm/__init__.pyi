from corral_glm.bases.supcb_glm import SupCbGlm as SupCbGlm
from corral_glm.bases.ucb_glm import UcbGlm as UcbGlm
from corral_glm.environments.glm import GlmArms as GlmArms
from corral_glm.environments.glm import GlmContexts as GlmContexts
from corral_glm.links import Link as Link
