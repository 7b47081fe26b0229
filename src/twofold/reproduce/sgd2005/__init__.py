"""Memisevic & Hinton (2005): improving dimensionality reduction with spectral gradient descent, Fig. 1 and section 6."""

from twofold.reproduce.records import Paper
from twofold.reproduce.sgd2005.beyond import DIGITS, GROWTH
from twofold.reproduce.sgd2005.circle import CIRCLE, EIGENVECTORS
from twofold.reproduce.sgd2005.helix import HELIX, QUASI_NEWTON
from twofold.reproduce.sgd2005.s_curve import S_CURVE

__all__ = ["PAPER"]

PAPER = Paper(
    name="sgd2005",
    citation="R. Memisevic, G. Hinton. Improving dimensionality reduction with spectral gradient descent. Neural Networks 18, 2005",
    method="SpectralGuidance, as an argument of SNE and UKR",
    experiments=(EIGENVECTORS, CIRCLE, HELIX, S_CURVE, QUASI_NEWTON, DIGITS, GROWTH),
    missing=(
        "The paper has learning curves and no figures: its claims are set beside ratios of guided and plain descents, over many starts where it shows one.",
        "It gives neither its data nor the bandwidths of Fig. 1, nor the noise of the helix and the S-curve: they are chosen here.",
    ),
)
