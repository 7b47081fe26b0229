"""Carreira-Perpinan & Lu (2010): parametric dimensionality reduction, sections 2.1 and 3."""

from benchmarks.papers.pdrur2010 import curves, many, projection, rolls, rotated
from benchmarks.papers.records import Paper

PAPER = Paper(
    name="pdrur2010",
    citation="M. Á. Carreira-Perpiñán, Z. Lu. Parametric dimensionality reduction by unsupervised "
    "regression. CVPR 2010",
    method="DRUR",
    experiments=(
        projection.projection,
        curves.spiral,
        curves.curves,
        rolls.regularization,
        rolls.laplacian,
        rolls.roll,
        many.wide_roll,
        rolls.hole,
        rotated.rotated,
        many.runtime,
        rolls.noisy_roll,
    ),
    missing=(
        (
            "Its rival GPLVM (Figs. 4, 5, 8, 10) is not part of this library, and UKR here is not "
            "the UKR of its authors: it has other starts, and L-BFGS."
        ),
        (
            "The paper shows pictures; latents are compared with the truth by Procrustes R², "
            "which it does not give."
        ),
        "Fig. 7 is not in the text that we have.",
        (
            "Its run times were measured in Matlab on a 2.66 GHz PC: slopes and ratios can be "
            "compared, seconds cannot."
        ),
    ),
)
