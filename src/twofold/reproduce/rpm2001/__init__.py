"""Smola et al. (2001): regularized principal manifolds, section 8."""

from twofold.reproduce.records import Paper
from twofold.reproduce.rpm2001.oil import GTM, OIL
from twofold.reproduce.rpm2001.robustness import GROWTH, LOOPS, OUTLIERS, PICTURE, SPARSE
from twofold.reproduce.rpm2001.synthetic import (
    CURVES,
    GENERALIZATION,
    SETTINGS,
    SURFACES,
    TURNS,
)

__all__ = ["PAPER"]

PAPER = Paper(
    name="rpm2001",
    citation="A. J. Smola, S. Mika, B. Schölkopf, R. C. Williamson. Regularized principal manifolds. JMLR 1, 2001",
    method="PrincipalManifold",
    experiments=(
        GENERALIZATION,
        CURVES,
        SURFACES,
        SETTINGS,
        TURNS,
        OIL,
        GTM,
        LOOPS,
        OUTLIERS,
        SPARSE,
        GROWTH,
        PICTURE,
    ),
    missing=(
        "The paper has pictures and no figures: its words are read as numbers, which the rows state.",
        "It gives neither its curves and surfaces nor their units: ours are chosen to look like Fig. 1, and its weights mean a hundredth in our units.",
        "“5 subdivisions of the regime denoted by ‘+’” (Fig. 4) is a look at a picture; ours is below, no number stands for it.",
    ),
)
