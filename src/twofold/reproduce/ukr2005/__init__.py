"""Meinicke et al. (2005): principal surfaces from unsupervised kernel regression, section 4."""

from twofold.reproduce.records import Paper
from twofold.reproduce.ukr2005.digits import DIGITS, TIMES
from twofold.reproduce.ukr2005.oil import CLASSES, OIL_STARTS
from twofold.reproduce.ukr2005.spiral import SPIRAL, STARTS

__all__ = ["PAPER"]

PAPER = Paper(
    name="ukr2005",
    citation="P. Meinicke, S. Klanke, R. Memisevic, H. Ritter. Principal surfaces from unsupervised kernel regression. IEEE TPAMI 27(9), 2005",
    method="UKR, KernelDensityClassifier",
    experiments=(STARTS, SPIRAL, DIGITS, TIMES, OIL_STARTS, CLASSES),
    missing=(
        "The paper's own sample of the noisy spiral is not published: ours are fresh ones of the same distribution, and samples differ more than methods do.",
        "Its seconds were measured on a Pentium IV: only ratios can be compared.",
        "It does not give RPROP's parameters: ours are first steps of 0.1 kernel widths and growth by 1.2 and 0.5.",
    ),
)
