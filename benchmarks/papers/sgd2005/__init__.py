"""Memisevic & Hinton (2005): spectral gradient descent, Fig. 1 and section 6."""

from benchmarks.papers.records import Paper
from benchmarks.papers.sgd2005 import beyond, circle, helix, s_curve

PAPER = Paper(
    name="sgd2005",
    citation="R. Memisevic, G. Hinton. Improving dimensionality reduction with spectral gradient "
    "descent. Neural Networks 18, 2005",
    method="SpectralGuidance, as an argument of SNE and UKR",
    experiments=(
        circle.eigenvectors,
        circle.circle,
        helix.helix,
        s_curve.s_curve,
        helix.quasi_newton,
        beyond.digits,
        beyond.growth,
    ),
    missing=(
        (
            "The paper has learning curves and no figures: its claims are set beside ratios of "
            "guided and plain descents, over many starts where it shows one."
        ),
        (
            "It gives neither its data nor the bandwidths of Fig. 1, nor the noise of the helix "
            "and the S-curve: they are chosen here."
        ),
    ),
)
