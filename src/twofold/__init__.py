"""Two-way manifold learning: latent coordinates and both maps.

A fitted model encodes data into the latent space (``transform``) and decodes latents back into data
(``inverse_transform``). ``score``, ``reconstruction_error`` and ``log_density`` measure how far to
trust both maps.
"""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING
from typing import Any as _Any

from twofold._version import __version__

if TYPE_CHECKING:
    from twofold.aligning import align
    from twofold.auto import AutoTwoWay
    from twofold.drur import DRUR
    from twofold.export.errors import ModelFileError
    from twofold.export.model_files import load, save
    from twofold.isomap import AgglomerativeIsomap, SupervisedIsomap
    from twofold.numerics.density import KernelDensityClassifier
    from twofold.pipelines import from_pipeline
    from twofold.principal_manifold import PrincipalManifold
    from twofold.sne import SNE
    from twofold.tables import TableMap
    from twofold.two_way import TwoWay
    from twofold.ukr import UKR

__all__ = [
    "DRUR",
    "SNE",
    "UKR",
    "AgglomerativeIsomap",
    "AutoTwoWay",
    "KernelDensityClassifier",
    "ModelFileError",
    "PrincipalManifold",
    "SupervisedIsomap",
    "TableMap",
    "TwoWay",
    "__version__",
    "align",
    "from_pipeline",
    "load",
    "save",
]

_HOMES = {
    "DRUR": "twofold.drur",
    "SNE": "twofold.sne",
    "UKR": "twofold.ukr",
    "AgglomerativeIsomap": "twofold.isomap",
    "AutoTwoWay": "twofold.auto",
    "KernelDensityClassifier": "twofold.numerics.density",
    "ModelFileError": "twofold.export.errors",
    "PrincipalManifold": "twofold.principal_manifold",
    "SupervisedIsomap": "twofold.isomap",
    "TableMap": "twofold.tables",
    "TwoWay": "twofold.two_way",
    "align": "twofold.aligning",
    "from_pipeline": "twofold.pipelines",
    "load": "twofold.export.model_files",
    "save": "twofold.export.model_files",
}
"""The module that defines each public name."""


def __getattr__(name: str) -> _Any:
    """Import a public name on first use: importing scikit-learn takes a second."""
    if name in _HOMES:
        globals()[name] = getattr(_import_module(_HOMES[name]), name)
        return globals()[name]
    if not name.startswith("_") and _find_spec(f"twofold.{name}") is not None:
        return _import_module(f"twofold.{name}")
    raise AttributeError(f"module 'twofold' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
