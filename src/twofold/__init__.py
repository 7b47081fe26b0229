"""Two-way manifold learning: latent coordinates and both maps.

A fitted model takes data down to the latent space (``transform``) and latents back up to data
(``inverse_transform``), and says how far to trust either (``score``, ``reconstruction_error``,
``log_density``).
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
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

_HOMES = {
    "KernelDensityClassifier": "density",
    "ModelFileError": "model_files",
    "load": "model_files",
    "save": "model_files",
}
"""Where names come from that are no estimators."""


def __getattr__(name: str) -> _Any:
    """Return what is asked for, loaded now: scikit-learn takes a second, and the command line can be interrupted before."""
    if name in __all__:
        module = _import_module(f"twofold.{_HOMES.get(name, 'estimators')}")
        globals()[name] = getattr(module, name)
        return globals()[name]
    if not name.startswith("_") and _find_spec(f"twofold.{name}") is not None:
        return _import_module(f"twofold.{name}")
    raise AttributeError(f"module 'twofold' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
