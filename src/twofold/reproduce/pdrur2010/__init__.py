"""Carreira-Perpinan & Lu (2010): parametric dimensionality reduction by unsupervised regression, sections 2.1 and 3."""

from twofold.reproduce.pdrur2010.curves import CURVES, SPIRAL
from twofold.reproduce.pdrur2010.many import RUNTIME, WIDE_ROLL
from twofold.reproduce.pdrur2010.projection import PROJECTION
from twofold.reproduce.pdrur2010.rolls import HOLE, LAPLACIAN, NOISY_ROLL, REGULARIZATION, ROLL
from twofold.reproduce.pdrur2010.rotated import ROTATED
from twofold.reproduce.records import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    name="pdrur2010",
    citation="M. Á. Carreira-Perpiñán, Z. Lu. Parametric dimensionality reduction by unsupervised regression. CVPR 2010",
    method="DRUR",
    experiments=(
        PROJECTION,
        SPIRAL,
        CURVES,
        REGULARIZATION,
        LAPLACIAN,
        ROLL,
        WIDE_ROLL,
        HOLE,
        ROTATED,
        RUNTIME,
        NOISY_ROLL,
    ),
    missing=(
        "Its rival GPLVM (Figs. 4, 5, 8, 10) is not part of this library, and UKR here is not the UKR of its authors: it has other starts, and L-BFGS.",
        "The paper shows pictures; latents are compared with the truth by Procrustes R², which it does not give.",
        "Fig. 7 is not in the text that we have.",
        "Its run times were measured in Matlab on a 2.66 GHz PC: slopes and ratios can be compared, seconds cannot.",
    ),
)
