"""The methods: our estimators and the rivals, all with their defaults.

``METHODS`` is the registry; ``--registry`` names another module that has one. A method has a name,
a function ``make(seed, threads)`` that imports its package and returns an unfitted model, and facts
for the report and the runner. Nothing here is chosen per data set.

All get two latent dimensions, the same seed and the same number of threads. A rival also gets the
settings it needs to take part (KernelPCA a kernel and an inverse transform).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.rivals import adapters


@dataclass(frozen=True)
class Method:
    """One method and its settings."""

    name: str
    make: Callable[[int, int], Any]
    settings: str
    """Description of the settings for the report."""
    package: str = "twofold"
    """The distribution whose version is recorded."""
    ours: bool = False
    short: str = ""
    """Label in the plots."""
    seeded: bool = True
    """Whether it is run for several seeds: False if a seed changes nothing."""
    bytes_per_pair: int = 0
    """Memory for each pair of rows of a quadratic method: sets beyond the limit are skipped."""
    most_rows: int | None = None
    """Larger sets are skipped."""
    warm_up: Callable[[Callable[[], Any], Any], None] | None = None
    """Called as ``warm_up(make_one, X)`` before the clock starts, to compile code."""

    @property
    def label(self):
        return self.short or self.name

    def refusal(self, rows, memory_cap):
        """Return why this number of rows is skipped, or None."""
        if self.most_rows is not None and rows > self.most_rows:
            return f"not run beyond {self.most_rows:,} rows"
        needed = self.bytes_per_pair * rows**2
        if needed > memory_cap:
            return (
                f"not run: quadratic, about {needed / 2**30:,.0f} GB, beyond the cap of "
                f"{memory_cap / 2**30:.0f} GB"
            )
        return None


def _same_on_few(make, X):
    """Fit and apply the same model to few rows, to compile its code.

    umap-learn searches neighbors in another way beyond 4,096 rows: then few is 5,000.
    """
    model = make()
    some = X[:5_000] if len(X) > 4_096 else X[:300]
    model.fit(some)
    Z = model.transform(some[:20])
    if getattr(model, "inverse_transform", None) is not None:
        model.inverse_transform(Z)


def _compile_ours(make, X):  # noqa: ARG001 - other data will do
    """Load the compiled loops of twofold from numba's cache, or fill it, on other data.

    Up to 2,000 rows only the shortest paths are compiled.
    """
    import numpy as np

    from twofold import UKR, AgglomerativeIsomap

    other = np.random.default_rng(0).standard_normal((6_000, 4)).cumsum(axis=1)
    if len(X) > 2_000:
        UKR(init="pca", homotopy=False, max_iter=2, random_state=0).fit(other).transform(other[:20])
    AgglomerativeIsomap(random_state=0).fit(other[:300]).transform(other[:20])


def of_twofold(name, **arguments):
    """Return ``make`` of an estimator of twofold with these arguments."""

    def make(seed, threads):
        import twofold

        kind = getattr(twofold, name)
        settings = {**arguments, "n_components": 2, "random_state": seed}
        if "n_jobs" in kind().get_params():
            settings["n_jobs"] = threads
        return kind(**settings)

    return make


def _ours(text, make, short, bytes_per_pair=0):
    named = "defaults" if text.endswith("()") else "defaults, except for the argument shown"
    return Method(
        text,
        make,
        settings=named,
        ours=True,
        short=short,
        bytes_per_pair=bytes_per_pair,
        warm_up=_compile_ours,
    )


def _scikit_learn(path, seed_name=None, **arguments):
    def make(seed, threads):
        import importlib

        module, _, name = path.rpartition(".")
        kind = getattr(importlib.import_module(module), name)
        settings = {"n_components": 2, **arguments}
        if seed_name:
            settings[seed_name] = seed
        if "n_jobs" in kind().get_params():
            settings["n_jobs"] = threads
        return kind(**settings)

    return make


def _umap(seeded):
    def make(seed, threads):
        import umap

        return umap.UMAP(random_state=seed, n_jobs=1) if seeded else umap.UMAP(n_jobs=threads)

    return make


METHODS = [
    _ours("UKR()", of_twofold("UKR"), "UKR"),
    _ours('UKR(init="tsne")', of_twofold("UKR", init="tsne"), "UKR tsne"),
    _ours("DRUR()", of_twofold("DRUR"), "DRUR"),
    _ours("PrincipalManifold()", of_twofold("PrincipalManifold"), "PM"),
    _ours('TwoWay("tsne")', of_twofold("TwoWay", embedding="tsne"), "TwoWay tsne"),
    _ours('TwoWay("isomap")', of_twofold("TwoWay", embedding="isomap"), "TwoWay isomap"),
    _ours("SNE()", of_twofold("SNE"), "SNE"),
    _ours("AgglomerativeIsomap()", of_twofold("AgglomerativeIsomap"), "AIsomap", 4),
    Method(
        "umap-learn",
        _umap(seeded=False),
        "defaults, which use all threads and no seed",
        "umap-learn",
        short="UMAP",
        warm_up=_same_on_few,
    ),
    Method(
        "umap-learn, seeded",
        _umap(seeded=True),
        "`random_state` set, which makes it serial; one seed, up to 10,000 rows",
        "umap-learn",
        short="UMAP seeded",
        most_rows=10_000,
        seeded=False,  # the row above has several; this one is about repeating and about time
        warm_up=_same_on_few,
    ),
    Method(
        "openTSNE",
        adapters.Tsne,
        "defaults; `n_jobs`, seed",
        "openTSNE",
        warm_up=_same_on_few,  # its search for neighbors is compiled
    ),
    Method(
        "PaCMAP",
        lambda seed, threads: adapters.Pacmap(seed),
        "defaults; seed",
        "pacmap",
        warm_up=_same_on_few,
    ),
    Method("PHATE", adapters.Phate, "defaults; `n_jobs`, seed", "phate"),
    Method(
        "PCA",
        _scikit_learn("sklearn.decomposition.PCA", "random_state"),
        "defaults",
        "scikit-learn",
        seeded=False,
    ),
    Method(
        "KernelPCA",
        _scikit_learn(
            "sklearn.decomposition.KernelPCA",
            "random_state",
            kernel="rbf",
            fit_inverse_transform=True,
            alpha=0.01,
        ),
        '`kernel="rbf", fit_inverse_transform=True, alpha=0.01` (better here than the default 1.0)',
        "scikit-learn",
        seeded=False,
        bytes_per_pair=32,
    ),
    Method(
        "Isomap",
        _scikit_learn("sklearn.manifold.Isomap"),
        "defaults; `n_jobs`",
        "scikit-learn",
        seeded=False,
        bytes_per_pair=24,
    ),
    Method(
        "LLE",
        _scikit_learn("sklearn.manifold.LocallyLinearEmbedding", "random_state"),
        "defaults; `n_jobs`, seed",
        "scikit-learn",
        seeded=False,
    ),
    Method(
        "ugtm",
        lambda seed, threads: adapters.Gtm(seed),
        "`eIGTM` with defaults: posterior means down, its surface up",
        "ugtm",
        seeded=False,
    ),
    Method(
        "GPLVM (GPy)",
        lambda seed, threads: adapters.Gplvm(),
        f"defaults from PCA, at most {adapters.Gplvm.ITERATIONS} iterations",
        "GPy",
        short="GPLVM",
        seeded=False,
        most_rows=2_000,
    ),
    Method(
        "autoencoder (PyTorch)",
        adapters.Autoencoder,
        "D-128-128-2-128-128-D, ReLU, Adam 1e-3, batches of 256, 50 epochs, at least 3,000 and at "
        "most 20,000 steps",
        "torch",
        short="autoencoder",
    ),
]
