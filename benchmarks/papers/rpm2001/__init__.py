"""Smola et al. (2001): regularized principal manifolds, section 8."""

from benchmarks.papers.records import Paper
from benchmarks.papers.rpm2001 import oil, robustness, synthetic

PAPER = Paper(
    name="rpm2001",
    citation="A. J. Smola, S. Mika, B. Schölkopf, R. C. Williamson. Regularized principal "
    "manifolds. JMLR 1, 2001",
    method="PrincipalManifold",
    experiments=(
        synthetic.generalization,
        synthetic.curves,
        synthetic.surfaces,
        synthetic.settings,
        synthetic.turns,
        oil.oil,
        oil.gtm,
        robustness.loops,
        robustness.outliers,
        robustness.sparse,
        robustness.growth,
        robustness.picture,
    ),
    missing=(
        (
            "The paper has pictures and no figures: its words are read as numbers, which the rows "
            "state."
        ),
        (
            "It gives neither its curves and surfaces nor their units: ours are chosen to look "
            "like Fig. 1, and its weights mean a hundredth in our units."
        ),
        (
            "“5 subdivisions of the regime denoted by ‘+’” (Fig. 4) is a look at a picture; ours "
            "is below, no number stands for it."
        ),
    ),
)
