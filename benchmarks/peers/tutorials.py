"""The steps of tutorials of umap-learn and openTSNE, written anew, with twofold in their place.

Each example names a page of a peer's documentation, what is written there and what to write here.
``run(quick)`` does the steps with our estimators and returns figures; ``theirs(quick)`` does them
with the peer where it is installed. Steps without a counterpart have a reason instead.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from twofold import DRUR, SNE, UKR, AutoTwoWay, SupervisedIsomap, TwoWay, load
from twofold.metrics import trustworthiness

UMAP, OPEN_TSNE = "umap-learn", "openTSNE"
QUICK_ROWS = 300


@dataclass(frozen=True)
class Example:
    """A step of a tutorial: page, what is written there and here, and functions that do it."""

    peer: str
    page: str
    there: str
    here: str
    run: Callable[[bool], dict[str, float]] | None = None
    theirs: Callable[[bool], dict[str, float]] | None = None
    reason: str = ""


def _digits(quick):
    X, y = load_digits(return_X_y=True)
    return (X[:QUICK_ROWS], y[:QUICK_ROWS]) if quick else (X, y)


def _parts(quick):
    X, y = _digits(quick)
    return train_test_split(X, y, stratify=y, random_state=42)


def _umap(**settings):
    import umap

    return umap.UMAP(random_state=42, n_jobs=1, **settings)


def _ukr(**settings):
    return UKR(random_state=42, n_jobs=1, **settings)


def _basic(model, quick):
    X, _ = _digits(quick)
    return {"trustworthiness": trustworthiness(X, model.fit_transform(X), 12)}


def _scaled_table(model):
    X = StandardScaler().fit_transform(load_iris().data)
    return {"trustworthiness": trustworthiness(X, model.fit_transform(X), 12)}


def _new_data(model, quick):
    X, X_test, y, y_test = _parts(quick)
    Z = model.fit(X).embedding_
    Z_test = model.transform(X_test)
    return {
        "kNN accuracy": KNeighborsClassifier().fit(Z, y).score(Z_test, y_test),
        "SVC accuracy": SVC().fit(Z, y).score(Z_test, y_test),
    }


def _way_back(model, quick):
    """Decode a grid between four corners of the map, and the latents of held-out rows."""
    X, X_test, _, _ = _parts(quick)
    Z = model.fit(X).embedding_
    low, high = Z.min(axis=0), Z.max(axis=0)
    grid = np.stack(np.meshgrid(*np.linspace(low, high, 5).T), axis=-1).reshape(-1, 2)
    decoded = model.inverse_transform(grid)
    if decoded.shape != (25, X.shape[1]) or not np.isfinite(decoded).all():
        raise ValueError("the grid of the map is not decoded")
    rebuilt = model.inverse_transform(model.transform(X_test))
    lost = np.square(X_test - rebuilt).sum() / np.square(X_test - X.mean(axis=0)).sum()
    return {"held-out error, share of variance": float(lost)}


def _labels(model, quick):
    X, X_test, y, y_test = _parts(quick)
    Z = model.fit(X, y).embedding_
    accuracy = KNeighborsClassifier().fit(Z, y).score(model.transform(X_test), y_test)
    return {"kNN accuracy": accuracy}


def _pipeline(name, model, grid, quick):
    n = 200 if quick else 600
    X, y = make_classification(n, n_features=30, n_informative=10, random_state=42)
    X, X_test, y, y_test = train_test_split(X, y, random_state=42)
    steps = Pipeline([(name, model), ("svc", LinearSVC(dual=False))])
    search = GridSearchCV(steps, grid, cv=3).fit(X, y)
    return {"test accuracy": search.score(X_test, y_test)}


def _sparse(model, quick):
    """Rows of few ones, as of the divisors of numbers: sparse to fit, and sparse to map."""
    rng = np.random.default_rng(0)
    n = QUICK_ROWS if quick else 1_000
    groups = rng.integers(0, 5, n)
    share = np.where(np.arange(200) // 40 == groups[:, None], 0.2, 0.01)
    X = csr_matrix((rng.random((n, 200)) < share).astype(float))
    Z, Z_new = model.fit(X[: n // 2]).embedding_, model.transform(X[n // 2 :])
    accuracy = KNeighborsClassifier().fit(Z, groups[: n // 2]).score(Z_new, groups[n // 2 :])
    return {"kNN accuracy": accuracy}


def _frames(quick):  # noqa: ARG001 - the table is small
    table = load_iris(as_frame=True).data
    model = _ukr(scale="standard").set_output(transform="pandas").fit(table)
    Z = model.transform(table)
    if list(Z.columns) != ["ukr0", "ukr1"] or not Z.index.equals(table.index):
        raise ValueError("the latents are no data frame with the rows' index")
    return {"rows": len(Z)}


def _clusters(model, quick):
    X, y = _digits(quick)
    found = HDBSCAN(min_samples=10, min_cluster_size=20 if quick else 60, copy=True)
    labels = found.fit_predict(model.fit(X).embedding_)
    inside = labels >= 0
    return {
        "adjusted Rand index": adjusted_rand_score(y[inside], labels[inside]),
        "share of rows in clusters": float(inside.mean()),
    }


def _with_outliers(quick):
    """Digits, and twenty rows whose pixels are drawn from different digits."""
    X, _ = _digits(quick)
    rng = np.random.default_rng(0)
    mixed = np.take_along_axis(X, rng.integers(0, len(X), (20, X.shape[1])), axis=0)
    return np.vstack([X, mixed]), np.arange(len(X) + 20) >= len(X)


def _outliers(quick):
    """Errors of held-out rows: a lonely training row rebuilds itself, so its own error is small."""
    X, odd = _with_outliers(quick)
    errors = np.empty(len(X))
    for kept, left_out in KFold(3, shuffle=True, random_state=42).split(X):
        errors[left_out] = _ukr().fit(X[kept]).reconstruction_error(X[left_out])
    return {"AUC": roc_auc_score(odd, errors)}


def _their_outliers(quick):
    X, odd = _with_outliers(quick)
    Z = _umap(set_op_mix_ratio=0.25).fit_transform(X)
    factor = LocalOutlierFactor(contamination=0.01).fit(Z).negative_outlier_factor_
    return {"AUC": roc_auc_score(odd, -factor)}


def _saved(quick):
    X, _ = _digits(quick)
    model = _ukr().fit(X)
    with TemporaryDirectory() as folder:
        path = Path(folder, "digits.twofold")
        model.save(path)
        same = np.array_equal(load(path).transform(X[:20]), model.transform(X[:20]))
    if not same:
        raise ValueError("a loaded model maps rows elsewhere")
    return {"rows compared": 20}


def _their_tsne(**settings):
    import openTSNE

    return openTSNE.TSNE(random_state=42, n_jobs=1, **settings)


def _embedded(quick):
    """The accuracy of openTSNE's own map for new rows."""
    X, X_test, y, y_test = _parts(quick)
    embedding = _their_tsne(perplexity=30).fit(X)
    Z_test = np.asarray(embedding.transform(X_test))
    knn = KNeighborsClassifier().fit(np.asarray(embedding), y)
    return {"kNN accuracy": knn.score(Z_test, y_test)}


def _tsne_new(quick):
    X, X_test, y, y_test = _parts(quick)
    model = TwoWay("tsne", random_state=42, n_jobs=1).fit(X)
    knn = KNeighborsClassifier().fit(model.embedding_, y)
    return {"kNN accuracy": knn.score(model.transform(X_test), y_test)}


def _own_embedding(quick):
    """Both maps for coordinates that openTSNE has computed, if it is installed."""
    X, X_test, y, y_test = _parts(quick)
    try:
        given = np.asarray(_their_tsne(perplexity=30).fit(X))
    except ImportError:
        from sklearn.manifold import TSNE

        given = TSNE(random_state=42).fit_transform(X)
    model = TwoWay(given, random_state=42, n_jobs=1).fit(X)
    if not np.allclose(model.embedding_, given):
        raise ValueError("the embedding is not the given one")
    knn = KNeighborsClassifier().fit(given, y)
    return {
        "kNN accuracy": knn.score(model.transform(X_test), y_test),
        "score": model.score(X_test),
    }


def _global(quick):
    from twofold.metrics import random_triplet_accuracy

    X, _ = _digits(quick)
    Z = SNE(init="pca", perplexity=30, random_state=42, n_jobs=1).fit(X).embedding_
    return {"random triplets": random_triplet_accuracy(X, Z)}


def _their_global(quick):
    from twofold.metrics import random_triplet_accuracy

    X, _ = _digits(quick)
    Z = np.asarray(_their_tsne(perplexity=30, initialization="pca").fit(X))
    return {"random triplets": random_triplet_accuracy(X, Z)}


class Recorder:
    """A callback of scikit-learn's kind that records the objective, and stops after five steps."""

    def __init__(self):
        self.objectives = []

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, metadata):  # noqa: ARG002
        if metadata:
            self.objectives.append(metadata["objective"])
        return len(self.objectives) >= 5


def _callbacks(quick):
    X, _ = _digits(quick)
    recorder = Recorder()
    _ukr(init="pca").set_callbacks(recorder).fit(X[:QUICK_ROWS])
    if len(recorder.objectives) < 5:
        raise ValueError("the callback was not called")
    return {"calls": len(recorder.objectives)}


def _both(here, there):
    """Return the two runs of a function of a model."""
    return {"run": here, "theirs": there}


EXAMPLES = (
    Example(
        UMAP,
        "basic usage",
        "`UMAP().fit_transform(digits)`",
        "`UKR().fit_transform(digits)`; `AutoTwoWay()` chooses the method",
        **_both(lambda quick: _basic(_ukr(), quick), lambda quick: _basic(_umap(), quick)),
    ),
    Example(
        UMAP,
        "basic usage",
        "`UMAP().fit_transform(StandardScaler().fit_transform(X))`",
        '`AutoTwoWay(scale="standard").fit_transform(table)`; the model keeps the scaling',
        **_both(
            lambda quick: _scaled_table(AutoTwoWay(random_state=42, n_jobs=1)),
            lambda quick: _scaled_table(_umap()),
        ),
    ),
    Example(
        UMAP,
        "transforming new data",
        "`UMAP().fit(X)`, `transform(X_new)`, then kNN and SVC",
        "`UKR().fit(X)`, `transform(X_new)`; the map of a row does not depend on the other rows",
        **_both(lambda quick: _new_data(_ukr(), quick), lambda quick: _new_data(_umap(), quick)),
    ),
    Example(
        UMAP,
        "inverse transforms",
        "`inverse_transform(grid)`",
        "`inverse_transform(grid)`; `log_density(grid)` is low where there is no support",
        **_both(lambda quick: _way_back(_ukr(), quick), lambda quick: _way_back(_umap(), quick)),
    ),
    Example(
        UMAP,
        "supervised dimension reduction",
        "`UMAP().fit(X, y)`, `transform(X_new)`",
        "`SupervisedIsomap().fit(X, y)`, `transform(X_new)`",
        **_both(
            lambda quick: _labels(SupervisedIsomap(random_state=42, n_jobs=1), quick),
            lambda quick: _labels(_umap(), quick),
        ),
    ),
    Example(
        UMAP,
        "pipelines",
        'steps `("umap", UMAP())`, `("svc", LinearSVC())` in `GridSearchCV`',
        'the same with `("map", SupervisedIsomap())` and `map__n_components`',
        **_both(
            lambda quick: _pipeline(
                "map",
                SupervisedIsomap(random_state=42, n_jobs=1),
                {"map__n_components": [2, 5]},
                quick,
            ),
            lambda quick: _pipeline(
                "umap", _umap(), {"umap__n_components": [2, 5], "umap__n_neighbors": [5, 20]}, quick
            ),
        ),
    ),
    Example(
        UMAP,
        "sparse data",
        '`UMAP(metric="cosine").fit(csr)`',
        '`UKR(metric="cosine").fit(csr)`',
        **_both(
            lambda quick: _sparse(_ukr(metric="cosine"), quick),
            lambda quick: _sparse(_umap(metric="cosine"), quick),
        ),
    ),
    Example(
        UMAP,
        "plotting, data frames",
        "`set_output(transform=...)` of scikit-learn",
        '`UKR().set_output(transform="pandas")`; `TableMap` for text, dates and gaps',
        _frames,
    ),
    Example(
        UMAP,
        "UMAP for clustering",
        "`UMAP(n_neighbors=30, min_dist=0.0)`, then HDBSCAN",
        '`TwoWay("tsne")`, then HDBSCAN on `embedding_`',
        **_both(
            lambda quick: _clusters(TwoWay("tsne", random_state=42, n_jobs=1), quick),
            lambda quick: _clusters(_umap(n_neighbors=30, min_dist=0.0), quick),
        ),
    ),
    Example(
        UMAP,
        "outlier detection",
        "`UMAP(set_op_mix_ratio=0.25)`, then the local outlier factor of the map",
        "`UKR().fit(X[kept]).reconstruction_error(X[left_out])` over three folds",
        _outliers,
        _their_outliers,
    ),
    Example(
        UMAP,
        "parametric UMAP",
        "`ParametricUMAP()`, a network in TensorFlow",
        "`DRUR()`: both maps are small networks of radial basis functions",
        lambda quick: _new_data(DRUR(random_state=42, n_jobs=1), quick),
    ),
    Example(
        UMAP,
        "saving",
        "`pickle.dump(reducer)`",
        "`model.save(path)`, `load(path)`: no code",
        _saved,
    ),
    Example(
        UMAP,
        "densMAP; composing models; other embedding spaces",
        "`densmap=True`, `mapper1 * mapper2`, `output_metric`",
        "",
        reason="these change the objective of UMAP: embed with umap-learn and pass the estimator "
        "or the coordinates to `TwoWay`.",
    ),
    Example(
        UMAP,
        "precomputed nearest neighbors; mutual neighbors",
        "`precomputed_knn=`",
        "",
        reason="our estimators have no argument for a given graph.",
    ),
    Example(
        OPEN_TSNE,
        "simple usage",
        "`TSNE(perplexity=30).fit(X)`, `embedding.transform(X_new)`",
        '`TwoWay("tsne").fit(X)`, `transform(X_new)`',
        _tsne_new,
        _embedded,
    ),
    Example(
        OPEN_TSNE,
        "advanced usage",
        "affinities, initialization and `optimize` step by step",
        "`TwoWay(embedding)` for any coordinates: both maps, a score and a density",
        _own_embedding,
    ),
    Example(
        OPEN_TSNE,
        "preserving global structure",
        '`TSNE(initialization="pca")`',
        '`SNE(init="pca")`',
        _global,
        _their_global,
    ),
    Example(
        OPEN_TSNE,
        "callbacks",
        "`TSNE(callbacks=f)`",
        "`model.set_callbacks(f)`, a callback of scikit-learn 1.9: it may stop the fit",
        _callbacks,
    ),
    Example(
        OPEN_TSNE,
        "multiscale and uniform affinities, perplexity annealing",
        "`affinity.Multiscale(...)`, `PerplexityBasedNN.set_perplexity`",
        "",
        reason="`SNE` has one perplexity: compute the coordinates with openTSNE and pass them to "
        "`TwoWay`.",
    ),
)
