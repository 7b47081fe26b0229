"""Two-way manifold learning: latent coordinates and both maps.

A fitted model takes data down to the latent space (``transform``) and latents back up to data
(``inverse_transform``), and says how far to trust either (``score``, ``reconstruction_error``,
``log_density``).
"""

from importlib.metadata import version as _version

from twofold.density import KernelDensityClassifier
from twofold.estimators import (
    DRUR,
    SNE,
    UKR,
    AgglomerativeIsomap,
    PrincipalManifold,
    SupervisedIsomap,
    TwoWay,
)
from twofold.model_files import ModelFileError, load, save

__all__ = [
    "DRUR",
    "SNE",
    "UKR",
    "AgglomerativeIsomap",
    "KernelDensityClassifier",
    "ModelFileError",
    "PrincipalManifold",
    "SupervisedIsomap",
    "TwoWay",
    "__version__",
    "load",
    "save",
]

__version__ = _version("twofold")
