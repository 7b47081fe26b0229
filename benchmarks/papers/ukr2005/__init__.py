"""Meinicke et al. (2005): principal surfaces from unsupervised kernel regression, section 4."""

from benchmarks.papers.records import Paper
from benchmarks.papers.ukr2005 import digits, oil, spiral

PAPER = Paper(
    name="ukr2005",
    citation="P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from "
    "unsupervised kernel regression. IEEE TPAMI 27(9), 2005",
    method="UKR, KernelDensityClassifier",
    experiments=(
        spiral.starts,
        spiral.spiral,
        digits.digits,
        digits.times,
        oil.oil_starts,
        oil.oil,
    ),
    missing=(
        (
            "The paper's own sample of the noisy spiral is not published: ours are fresh ones of "
            "the same distribution, and samples differ more than methods do."
        ),
        "Its seconds were measured on a Pentium IV: only ratios can be compared.",
        (
            "It does not give RPROP's parameters: ours are first steps of 0.1 kernel widths and "
            "growth by 1.2 and 0.5."
        ),
    ),
)
