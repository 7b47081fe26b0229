"""The measures of PaCMAP's paper and of ZADU, for maps of MNIST, USPS and COIL-20.

All methods map the same rows in the same run. PaCMAP's paper measures the accuracy of a classifier
by ten nearest neighbors in the map, leaving out the row itself; that of a support vector machine
with a radial basis function kernel, cross-validated; the share of random triplets, and of pairs of
distances between class centroids, whose order is the same in the data and in the map. ZADU has
trustworthiness and continuity, mean relative rank errors (as shares of what is kept), steadiness
and cohesiveness of groups, the divergence of densities, and stress. Stress is measured after the
map is scaled to the data.

References
----------
* Y. Wang, H. Huang, C. Rudin and Y. Shaposhnik. Understanding how dimension reduction tools work.
  *Journal of Machine Learning Research* 22(201), 2021, section 8.
* H. Jeon, A. Cho, J. Jang, S. Lee, J. Hyun, H.-K. Ko, J. Jo and J. Seo. ZADU: A Python library for
  evaluating the reliability of dimensionality reduction embeddings. *IEEE VIS* 2023.
"""

from statistics import median

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.harness.kept import figures_table
from benchmarks.published.methods import METHODS, shown
from twofold.datasets import load_coil20, load_mnist, load_usps
from twofold.metrics import neighborhood_preservation, random_triplet_accuracy

ROWS, NEIGHBORS = 1_000, 10
DEFAULT = (
    "UKR()",
    "DRUR()",
    'TwoWay("tsne")',
    "AgglomerativeIsomap()",
    "PCA",
    "umap-learn",
    "openTSNE",
    "PaCMAP",
)
ZADU = (
    {"id": "tnc", "params": {"k": 20}},
    {"id": "mrre", "params": {"k": 20}},
    {"id": "snc", "params": {"k": 50, "iteration": 150}},
    {"id": "kl_div", "params": {"sigma": 0.1}},
    {"id": "stress"},
)
LOWER_IS_BETTER = ("KL divergence", "stress")
LABELS = {
    "mrre_false": "MRRE, false",
    "mrre_missing": "MRRE, missing",
    "kl_divergence": "KL divergence",
}


def sets():
    """Return rows and labels by name; of MNIST and USPS the same random rows in every run."""
    coil = load_coil20()
    found = {"COIL-20": (coil.X, coil.y)}
    for name, data in (("USPS", load_usps()), ("MNIST", load_mnist())):
        rows = np.sort(np.random.default_rng(0).permutation(len(data.X_train))[:ROWS])
        X = data.X_train[rows].astype(np.float64)
        found[name] = (X / 255.0 if X.max() > 1.0 else X, data.y_train[rows])
    return found


def measure(data, seeds, names=DEFAULT, say=print):
    """Return the figures of each method and seed on a set."""
    X, y = data
    found = {}
    for name in names:
        try:
            runs = []
            for seed in seeds[:1] if name == "PCA" else seeds:
                model = METHODS[name](seed)
                model.fit(X)
                latents = getattr(model, "embedding_", None)
                Z = np.asarray(model.transform(X) if latents is None else latents, dtype=np.float64)
                runs.append(judged(X, y, Z, seed))
            found[name] = runs
        except ImportError as error:
            say(f"{name}: left out, {error}")
            continue
        say(f"{name}: { {key: round(value, 3) for key, value in runs[0].items()} }")
    return {"rows": len(X), "seeds": list(seeds), "methods": found}


def judged(X, y, Z, seed=0):
    """Return all measures of a map; ZADU's only if it is installed."""
    figures = {
        "10-NN accuracy": left_out_accuracy(Z, y),
        "SVM accuracy": svm_accuracy(Z, y),
        "random triplets": random_triplet_accuracy(X, Z, random_state=seed),
        "centroid triplets": centroid_triplet_accuracy(X, Z, y),
        "neighbors kept": neighborhood_preservation(X, Z, n_neighbors=NEIGHBORS),
    }
    return figures | zadu_figures(X, Z, seed)


def left_out_accuracy(Z, y):
    """Return the accuracy of the vote of each row's ten nearest others."""
    near = NearestNeighbors(n_neighbors=NEIGHBORS).fit(Z).kneighbors(return_distance=False)
    votes = np.apply_along_axis(np.bincount, 1, y[near], minlength=int(y.max()) + 1)
    return float(np.mean(votes.argmax(axis=1) == y))


def svm_accuracy(Z, y):
    """Return the accuracy of a support vector machine in five folds."""
    model = make_pipeline(StandardScaler(), SVC())
    return float(cross_val_score(model, Z, y, cv=StratifiedKFold(5)).mean())


def centroid_triplet_accuracy(X, Z, y):
    """Return the share of pairs of distances between class centroids in the same order."""
    centers = [np.array([A[y == label].mean(axis=0) for label in np.unique(y)]) for A in (X, Z)]
    one, other = np.triu_indices(len(pdist(centers[0])), 1)
    orders = [pdist(A)[one] > pdist(A)[other] for A in centers]
    return float(np.mean(orders[0] == orders[1]))


def zadu_figures(X, Z, seed=0):
    """Return ZADU's measures by name, or nothing if the package is absent."""
    try:
        from zadu import ZADU as Measures
    except ImportError:
        return {}
    np.random.seed(seed)  # noqa: NPY002 - its random walks use NumPy's global generator
    distances, mapped = pdist(X), pdist(Z)
    scaled = Z * float(distances @ mapped / (mapped @ mapped))
    found = {}
    for one in Measures(list(ZADU), np.asarray(X, dtype=np.float64)).measure(scaled):
        found |= {LABELS.get(key, key): float(value) for key, value in one.items()}
    return found


def table(record):
    """Return medians over the seeds in Markdown, the best figure of each column in bold."""
    rows = {}
    for name, runs in record["methods"].items():
        rows[name] = {key: median(run[key] for run in runs) for key in runs[0]}
    best = {
        key: (min if key in LOWER_IS_BETTER else max)(row[key] for row in rows.values())
        for key in next(iter(rows.values()))
    }
    marked = {
        shown(name): {
            key: f"**{value:.3f}**" if round(value, 3) == round(best[key], 3) else f"{value:.3f}"
            for key, value in row.items()
        }
        for name, row in rows.items()
    }
    return figures_table("map", marked)
