"""Pictures of two-way models, with matplotlib.

Each picture is a display as in scikit-learn: ``from_estimator`` computes and draws it, ``plot``
draws it again, ``ax_`` and ``figure_`` belong to matplotlib. No window opens, and pyplot keeps no
figure: a notebook shows a display at the end of a cell, and `save_figure` writes it to a file.
"""

from twofold.plotting._figures import save_figure
from twofold.plotting.candidates import CandidatesDisplay
from twofold.plotting.class_borders import ClassBordersDisplay
from twofold.plotting.decoded_grid import DecodedGridDisplay
from twofold.plotting.feature_arrows import FeatureArrowsDisplay
from twofold.plotting.generalization import GeneralizationDisplay
from twofold.plotting.latent_map import LatentMapDisplay
from twofold.plotting.learning_curve import LearningCurveDisplay
from twofold.plotting.manifold import ManifoldDisplay
from twofold.plotting.path_features import PathFeaturesDisplay
from twofold.plotting.rate_distortion import RateDistortionDisplay
from twofold.plotting.reconstruction_error import ReconstructionErrorDisplay
from twofold.plotting.residual_variance import ResidualVarianceDisplay
from twofold.plotting.stability import StabilityDisplay
from twofold.plotting.stretch import StretchDisplay

__all__ = [
    "CandidatesDisplay",
    "ClassBordersDisplay",
    "DecodedGridDisplay",
    "FeatureArrowsDisplay",
    "GeneralizationDisplay",
    "LatentMapDisplay",
    "LearningCurveDisplay",
    "ManifoldDisplay",
    "PathFeaturesDisplay",
    "RateDistortionDisplay",
    "ReconstructionErrorDisplay",
    "ResidualVarianceDisplay",
    "StabilityDisplay",
    "StretchDisplay",
    "save_figure",
]
