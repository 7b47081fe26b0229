"""Classes with the parameters of a peer and the behavior of one of our estimators.

An adapter takes the peer's parameters, stores them as scikit-learn demands, and on `fit` builds our
estimator from them. Everything else (latents, both maps, feature names, learned attributes) is our
estimator's. What has no counterpart here raises `NotShared` with the reason: the test then does not
apply. Parameters that only choose between algorithms with the same result are ignored.
"""

import inspect
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.manifold import TSNE, Isomap, LocallyLinearEmbedding
from sklearn.metrics import pairwise_distances

from twofold import SNE, UKR, AgglomerativeIsomap, TwoWay

NO_ATTRIBUTE = {
    "dist_matrix_": "reads `dist_matrix_`: we do not keep the geodesic distances",
    "nbrs_": "reads `nbrs_`, the nearest-neighbor object of the fit",
    "kl_divergence_": "reads `kl_divergence_`, the value of t-SNE's objective",
    "n_iter_": "reads `n_iter_`: no such attribute here",
    "eigenvalues_": "reads `eigenvalues_` of the kernel matrix",
    "eigenvectors_": "reads `eigenvectors_` of the kernel matrix",
    "gamma_": "reads `gamma_`, the width of the kernel in use",
    "reconstruction_error_": "reads `reconstruction_error_`, the value of LLE's objective",
}


class NotShared(Exception):
    """The test needs something of the peer that our estimator does not have."""


class Adapter(BaseEstimator):
    """The parameters of a peer, and a model of ours. Subclasses set ``peer`` and ``build``."""

    used = 0
    """How many models the running test has fitted; reset by the plugin."""

    def fit(self, X, y=None):  # noqa: ARG002 - labels are for pipelines
        Adapter.used += 1
        self.model_, data = self._prepare(X)
        self.model_.fit(data)
        return self

    def fit_transform(self, X, y=None):  # noqa: ARG002 - labels are for pipelines
        Adapter.used += 1
        self.model_, data = self._prepare(X)
        return self.model_.fit_transform(data)

    def transform(self, X):
        return self._fitted().transform(self._distances(X))

    def inverse_transform(self, Z):
        return self._fitted().inverse_transform(Z)

    def get_feature_names_out(self, input_features=None):
        """Return the names of our class, with the peer's name as the prefix."""
        names = self._fitted().get_feature_names_out(input_features)
        prefix = type(self.model_).__name__.lower()
        peer = self.peer.__name__.lower()
        return np.array([peer + name.removeprefix(prefix) for name in names], dtype=object)

    def __getattr__(self, name):
        if name in NO_ATTRIBUTE:
            raise NotShared(NO_ATTRIBUTE[name])
        if name.startswith("_") or "model_" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.model_, name)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        precomputed = "precomputed" in (getattr(self, "metric", ""), getattr(self, "kernel", ""))
        tags.input_tags.pairwise = (
            precomputed and self.build().__sklearn_tags__().input_tags.pairwise
        )
        return tags

    def _fitted(self):
        if "model_" not in self.__dict__:
            raise NotFittedError("fit first")
        return self.model_

    def _prepare(self, X):
        self._training = X
        return self.build(), self._distances(X)

    def _distances(self, X):
        """Return the data, or their distances to the training rows for metrics of the peer."""
        metric = self._metric()
        if metric is None:
            return X
        return pairwise_distances(X, self._training, **metric)

    def _metric(self):
        return None


def adapter(peer, base):
    """Return a class with the constructor of the peer and the methods of ``base``."""
    signature = inspect.signature(peer.__init__)

    def __init__(self, *given, **named):
        bound = signature.bind(self, *given, **named)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    __init__.__signature__ = signature
    return type(peer.__name__, (base,), {"__init__": __init__, "peer": peer})


class _Isomap(Adapter):
    """`AgglomerativeIsomap`; eigen_solver, path_method and neighbors_algorithm are ignored.

    Our latents are in units of the data's total standard deviation. The peer's are in those of the
    data, so latents are multiplied by it.
    """

    @property
    def embedding_(self):
        return self._fitted().embedding_ * self._unit

    def fit_transform(self, X, y=None):
        return super().fit_transform(X, y) * self._unit

    def transform(self, X):
        return super().transform(X) * self._unit

    def build(self):
        if self.radius is not None or self.n_neighbors is None:
            raise NotShared("uses a graph by `radius`: our graphs have a number of neighbors")
        given = self.metric == "precomputed"
        distances = "precomputed" if given or self._metric() else "euclidean"
        return AgglomerativeIsomap(
            self.n_components,
            n_neighbors=self.n_neighbors,
            graph="knn",
            dissimilarity=distances,
            random_state=0,
            n_jobs=1,
        )

    def _prepare(self, X):
        self._training = X
        data = self._distances(X)
        model = self.build()
        values = data.toarray() if issparse(data) else np.asarray(data)
        euclidean = model.dissimilarity == "euclidean"
        self._unit = np.sqrt(values.var(axis=0).sum()) if euclidean else 1.0
        model.n_neighbors = min(model.n_neighbors, data.shape[0] - 1)
        return model, data

    def _metric(self):
        if callable(self.metric) or self.metric == "manhattan":
            return {"metric": self.metric}
        if self.metric == "minkowski" and self.p != 2:
            return {"metric": "minkowski", "p": self.p}
        return None


class _TSNE(Adapter):
    """`SNE`; learning rate, exaggeration, method and angle are settings of the peer's descent."""

    def build(self):
        if self.metric != "euclidean":
            raise NotShared("uses `metric`: `SNE` compares rows by geodesic or Euclidean distances")
        return SNE(
            self.n_components,
            perplexity=self.perplexity,
            distances="euclidean",
            init=self.init,
            random_state=self.random_state,
            max_iter=self.max_iter,
            verbose=self.verbose,
            n_jobs=self.n_jobs or 1,
        )


class _LLE(Adapter):
    """`TwoWay("lle:k")`, the method "standard"."""

    def build(self):
        if self.method != "standard":
            raise NotShared(f'uses method="{self.method}": `TwoWay("lle")` is the standard one')
        return TwoWay(
            f"lle:{self.n_neighbors}",
            n_components=self.n_components,
            random_state=self.random_state,
            n_jobs=1,
        )


class _KernelPCA(Adapter):
    """`UKR(metric=kernel, init="pca")`: regression in the feature space of the peer's kernel."""

    def build(self):
        if self.n_components is None:
            raise NotShared("uses `n_components=None`: our maps have a given number of dimensions")
        named = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        of = {"rbf": ["gamma"], "poly": list(named), "sigmoid": ["gamma", "coef0"]}
        kernel = self.kernel
        metric = "euclidean" if kernel == "linear" else kernel
        if kernel == "poly":
            metric = "polynomial"
        if callable(kernel):
            metric = _of_matrices(kernel)
        given = {key: named[key] for key in of.get(str(kernel), ()) if named[key] is not None}
        return UKR(
            self.n_components,
            metric=metric,
            metric_params=given or None,
            init="pca",
            random_state=self.random_state,
            n_jobs=1,
        )


def _of_matrices(kernel):
    """Return a function of two matrices from one of two rows."""

    def values(X, Y):
        return np.array([[kernel(x, y) for y in Y] for x in X])

    return values


class _Wrapped(Adapter):
    """``TwoWay(peer(...))``: the peer itself, with both maps learned for its embedding."""

    def build(self):
        return TwoWay(self.peer(**self.get_params(deep=False)), random_state=0, n_jobs=1)


@dataclass(frozen=True)
class Column:
    """One of our estimators in the place of a peer."""

    label: str
    make: type
    module: str
    peer: str


PEERS = {
    "isomap": (Isomap, "sklearn.manifold.tests.test_isomap", _Isomap, "AgglomerativeIsomap"),
    "t_sne": (TSNE, "sklearn.manifold.tests.test_t_sne", _TSNE, "SNE"),
    "locally_linear": (
        LocallyLinearEmbedding,
        "sklearn.manifold.tests.test_locally_linear",
        _LLE,
        'TwoWay("lle")',
    ),
    "kernel_pca": (
        KernelPCA,
        "sklearn.decomposition.tests.test_kernel_pca",
        _KernelPCA,
        "UKR(metric=...)",
    ),
}

COLUMNS = {
    f"{name}, {kind}": Column(
        label if kind == "own" else f"TwoWay({peer.__name__}(...))",
        adapter(peer, base if kind == "own" else _Wrapped),
        module,
        peer.__name__,
    )
    for name, (peer, module, base, label) in PEERS.items()
    for kind in ("own", "wrapped")
}
"""By name of the test file and kind: an estimator of ours, or the peer wrapped by `TwoWay`."""
