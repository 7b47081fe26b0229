"""What is measured: our estimators with their defaults, and three rivals of ``benchmarks.rivals``.

``METHODS`` is the registry; ``--registry`` names another module that has one.
"""

from dataclasses import dataclass

from benchmarks.rivals import adapters
from benchmarks.rivals.methods import METHODS as KNOWN
from benchmarks.rivals.methods import Method, of_twofold


@dataclass(frozen=True)
class Measured(Method):
    """A method, and how it is measured."""

    labels: bool = False
    """Whether ``fit`` needs labels."""
    first_call: bool = False
    """Whether every fit runs in a fresh process, with the import of its package in its time."""


def _known(known_as, **changes):
    method = next(method for method in KNOWN if method.name == known_as)
    return Measured(**{**vars(method), **changes})


SEEDED = "defaults; `n_jobs`, seed"


def _pacmap(seed, threads):  # noqa: ARG001 - it uses all cores that it may
    return adapters.Pacmap(seed)


METHODS = [
    _known("AutoTwoWay()"),
    _known("UKR()"),
    _known("DRUR()"),
    _known("PrincipalManifold()"),
    _known("SNE()"),
    _known("AgglomerativeIsomap()"),
    Measured(
        "SupervisedIsomap()",
        of_twofold("SupervisedIsomap"),
        "defaults",
        ours=True,
        labels=True,
    ),
    _known('TwoWay("tsne")'),
    _known('TwoWay("isomap")'),
    _known("umap-learn"),
    _known("umap-learn", name="umap-learn, first call", first_call=True),
    _known("openTSNE + kNN", name="openTSNE", short="", make=adapters.Tsne, settings=SEEDED),
    _known("PaCMAP + kNN", name="PaCMAP", short="", make=_pacmap, settings=SEEDED),
]
