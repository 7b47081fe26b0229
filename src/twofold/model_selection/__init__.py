"""The number of latent dimensions, whether there is anything to map, and how stable a map is.

Scores of reconstructions rise with every latent dimension. Those of codebooks of fixed size do not
(`twofold.metrics.codebook_score`): their limit is k-means of the data.
"""

from twofold.model_selection.curve import DimensionCurve, dimension_curve, one_standard_error
from twofold.model_selection.dimension import DimensionChoice, choose_dimension
from twofold.model_selection.resampling import Stability, stability
from twofold.model_selection.structure import Structure, detect_structure

__all__ = [
    "DimensionChoice",
    "DimensionCurve",
    "Stability",
    "Structure",
    "choose_dimension",
    "detect_structure",
    "dimension_curve",
    "one_standard_error",
    "stability",
]
