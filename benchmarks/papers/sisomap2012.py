"""The experiments of Orsenigo & Vercellis (2012): classification after supervised Isomap, and what A-Isomap should stand.

    python benchmarks/papers/sisomap2012.py [--only NAME ...] [--folder sisomap2012]

Names are check, gain, table, pieces, coil and speed. Writes ``results.json`` and pictures into the folder. The tables come from the data folder
(``TWOFOLD_DATA``). The paper's own numbers are not in the part of it that we have; its claims are that kernel ridge regression (KRR) dominates the
general regression network (GRNN) as an out-of-sample map, and that supervised Isomap with KRR beats the direct classifier on most sets.

Protocol. Columns are standardised on the training rows of each split. Neighbours, alpha and dimension of the embedding and the parameters of the classifiers are
chosen by three inner folds of the training rows, for every contestant; widths and ridges of the maps by leave-one-out. beta has the single value 1.0, the mean
distance, everywhere: it is not chosen. For support vector
machines the embedding is chosen with C = 10 and the default width, then C and width at that embedding. Tables of more rows than ``MOST_ROWS`` are
cut to a stratified sample, drawn anew for each repeat; ``rows`` in the results says so.

What was planned, and what was not. ``gain`` ran as it was planned, on seeds that nothing had been tried on. For ``table`` one split (seed 0) was planned. It failed:
k-NN gained 0.9 points over raw data where 1 was asked for and was as good on five tables of ten (seven), and support vector machines lost 1.2 (1) and were within
a point on five (six). Repeats (seeds 1 and 2) were added after that was seen. So the default is now three fresh seeds, 201 to 203, and results of seeds 0 to 2 are
to be read with this in mind.

The inner loops share work between settings: one factorisation for each width serves all of them. ``check`` compares what they return with the estimators.
"""

import os
import subprocess
import sys
import time
import warnings
from functools import cache
from itertools import product

import numpy as np
from experiments import run
from matplotlib.figure import Figure
from scipy import linalg
from scipy.stats import rankdata, wilcoxon
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from twofold import AgglomerativeIsomap, SupervisedIsomap
from twofold._linalg import sqdist
from twofold.datasets import UCI_NAMES, load_coil20, load_uci, make_swiss_roll
from twofold.dissimilarities import Euclidean, Supervised
from twofold.graph import connect_components, knn_graph
from twofold.maps._ridge import ALPHAS
from twofold.metrics import procrustes_r2
from twofold.plotting import save_figure
from twofold.scaling import classical_scaling, squared_geodesics
from twofold.widths import width_grid

MOST_ROWS = int(os.environ.get("SISOMAP_ROWS", "600"))
NEIGHBORS = (5, 15)
LABELS = ((0.0, 1.0), (0.75, 1.0))
DIMENSIONS = (2, 4, 8, 16)
VOTERS = (1, 3, 5, 9, 15, 25)
SVMS = [(C, factor) for C in (0.1, 1.0, 10.0, 100.0, 1000.0) for factor in (0.125, 0.5, 1.0, 2.0)]
USUAL_SVM = (10.0, 1.0)
TABLE_SEEDS = (201, 202, 203)
"""Not those of the first runs, see above."""

FRESH_SEEDS = (101, 102, 103, 104, 105)
KINDS = ("k-NN", "SVM")


@cache
def table_of(name):
    data = load_uci(name)
    if "X" in data:
        X, y = data.X, data.y
    else:
        X, y = np.vstack([data.X_train, data.X_test]), np.append(data.y_train, data.y_test)
    return X.astype(float), y


def rows_of(name, seed):
    X, y = table_of(name)
    if len(X) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, stratify=y, random_state=seed)
    return X, y


def by_size():
    return sorted(UCI_NAMES, key=lambda name: min(len(table_of(name)[0]), MOST_ROWS))


def embedded(X, y, neighbors, labels, n_components):
    """Return the exact embedding; labels are alpha and beta, None without them."""
    distances = Euclidean(X / np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).mean()))
    if labels is not None:
        distances = Supervised(distances, y, alpha=labels[0], beta=labels[1])
    graph = knn_graph(distances, min(neighbors, len(X) - 1))
    graph, _ = connect_components(graph, distances)
    return classical_scaling(squared_geodesics(graph, None, np.float64), n_components)


class Maps:
    """Both out-of-sample maps of many embeddings of the same rows: factorised once."""

    def __init__(self, X, query):
        self.widths = width_grid(X)
        own, other = sqdist(X, X), sqdist(query, X)
        self.n = len(X)
        self.ridge = []
        for width in self.widths:
            values, vectors = linalg.eigh(np.exp(-0.5 * own / width**2), driver="evd")
            kept = values > 1e-10 * values[-1]
            values, vectors = values[kept], vectors[:, kept]
            hats = [1.0 - np.square(vectors) @ (values / (values + alpha)) for alpha in ALPHAS]
            self.ridge.append((values, vectors, np.maximum(hats, 1e-12)))
        self.to_query = [np.exp(-0.5 * other / width**2) for width in self.widths]
        self.own, self.other = own, other
        np.fill_diagonal(own, np.inf)
        self.known = {}

    def means(self, width, of):
        """Weights of the general regression network, of the rows without themselves or of the query."""
        key = f"{width:.10e}", of
        if key not in self.known:
            logs = -0.5 * getattr(self, of) / width**2
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            self.known[key] = weights / weights.sum(axis=1, keepdims=True)
        return self.known[key]

    def krr(self, Z):
        """Return for each number of columns (of Z) its leave-one-out and query predictions."""
        errors = np.empty((len(self.widths), len(ALPHAS), Z.shape[1]))
        projected = [vectors.T @ Z for _, vectors, _ in self.ridge]
        for (w, (values, vectors, rest)), (a, alpha) in product(
            enumerate(self.ridge), enumerate(ALPHAS)
        ):
            fit = vectors @ (projected[w] * (values / (values + alpha))[:, None])
            errors[w, a] = np.square((Z - fit) / rest[a][:, None]).sum(axis=0)

        def of(d):
            total = errors[:, :, :d].sum(axis=2)
            ridges = [max(np.flatnonzero(row <= 1.01 * row.min())) for row in total]
            w = int(np.argmin([row[a] for row, a in zip(total, ridges, strict=True)]))
            a = ridges[w]
            values, vectors, rest = self.ridge[w]
            weights = vectors @ (projected[w][:, :d] / (values + ALPHAS[a])[:, None])
            fit = vectors @ (projected[w][:, :d] * (values / (values + ALPHAS[a]))[:, None])
            left_out = Z[:, :d] - (Z[:, :d] - fit) / rest[a][:, None]
            return left_out, self.to_query[w] @ weights

        return of

    def grnn(self, Z):
        """The same of the general regression network, its width searched for as `GRNN` does."""
        errors = {}

        def error(width, d):
            key = f"{width:.10e}"
            if key not in errors:
                errors[key] = np.square(Z - self.means(width, "own") @ Z).sum(axis=0)
            return errors[key][:d].sum()

        def of(d):
            tried = [self.widths[0] / 8.0, self.widths[0] / 4.0, self.widths[0] / 2.0, *self.widths]
            best = min(tried, key=lambda width: error(width, d))
            for ratio in (2.0**0.5, 2.0**0.25, 2.0**0.125):
                best = min((best, best / ratio, best * ratio), key=lambda width: error(width, d))
            return self.means(best, "own") @ Z[:, :d], self.means(best, "other") @ Z[:, :d]

        return of


METHODS = {
    "KRR": (LABELS, "krr", False),
    "GRNN": (LABELS, "grnn", False),
    "KRR, exact": (LABELS, "krr", True),
    "GRNN, exact": (LABELS, "grnn", True),
    "A-Isomap": ((None,), "krr", False),
}
"""Values of alpha and beta (None: no labels), the map, and whether the classifier is trained on the exact embedding."""


def coordinates(X, y, query, wanted):
    """Yield (method, setting, training coordinates, query coordinates) for the wanted settings of each method."""
    maps = Maps(X, query)
    done = {}
    for method, settings in wanted.items():
        _, kind, exact = METHODS[method]
        for setting in settings:
            neighbors, labels, d = setting
            key = (neighbors, labels)
            if key not in done:
                Z = embedded(X, y, neighbors, labels, min(max(DIMENSIONS), X.shape[1]))
                done[key] = (Z, maps.krr(Z), maps.grnn(Z))
            Z, *of = done[key]
            left_out, predicted = of[kind == "grnn"](d)
            yield method, setting, Z[:, :d] if exact else left_out, predicted


def settings_of(method, n_features):
    labels = METHODS[method][0]
    dimensions = [d for d in DIMENSIONS if d <= n_features]
    return list(product(NEIGHBORS, labels, dimensions))


def knn(Z, y, query, voters=VOTERS):
    """Labels by the majority of the nearest, one row for each number of voters; of equal counts the first label."""
    distances = sqdist(query, Z)
    most = min(max(voters), len(Z))
    near = np.argpartition(distances, most - 1, axis=1)[:, :most]
    order = np.argsort(np.take_along_axis(distances, near, axis=1), axis=1)
    labels, numbers = np.unique(y, return_inverse=True)
    votes = np.eye(len(labels))[numbers[np.take_along_axis(near, order, axis=1)]].cumsum(axis=1)
    return np.array([labels[votes[:, min(k, most) - 1].argmax(axis=1)] for k in voters])


def svm(Z, y, query, C, factor):
    gamma = factor / max(Z.shape[1] * Z.var(), 1e-12)
    return SVC(C=C, gamma=gamma, cache_size=100).fit(Z, y).predict(query)


def scaled(X, *others):
    scaler = StandardScaler().fit(X)
    return [scaler.transform(A) for A in (X, *others)]


def classified(X, y, query, methods, seed):
    """Return the labels each method and classifier predicts, parameters (but beta) chosen by inner folds."""
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    parts = []
    for train, valid in folds.split(X, y):
        parts.append((*scaled(X[train], X[valid]), y[train], y[valid]))
    wanted = {method: settings_of(method, X.shape[1]) for method in methods}
    scores, kept = {}, {}
    for number, (train, valid, y_train, y_valid) in enumerate(parts):
        found = list(coordinates(train, y_train, valid, wanted))
        found.append(("raw", None, train, valid))
        for method, setting, Z, query_Z in found:
            kept[number, method, setting] = Z, query_Z
            for k, labels in zip(VOTERS, knn(Z, y_train, query_Z), strict=True):
                key = method, "k-NN", setting, k
                scores[key] = scores.get(key, 0.0) + np.mean(labels == y_valid)
            key = method, "SVM", setting, USUAL_SVM
            scores[key] = scores.get(key, 0.0) + np.mean(
                svm(Z, y_train, query_Z, *USUAL_SVM) == y_valid
            )
    chosen = {}
    for method, kind in product((*methods, "raw"), KINDS):
        best = max((key for key in scores if key[:2] == (method, kind)), key=scores.__getitem__)
        chosen[method, kind] = best[2:]
        if kind == "SVM":
            totals = {}
            for parameters in SVMS:
                totals[parameters] = sum(
                    np.mean(svm(Z, part[2], Q, *parameters) == part[3])
                    for number, part in enumerate(parts)
                    for Z, Q in [kept[number, method, best[2]]]
                )
            chosen[method, kind] = best[2], max(totals, key=totals.__getitem__)
    X, query = scaled(X, query)
    wanted = {method: {chosen[method, kind][0] for kind in KINDS} for method in methods}
    places = {(m, s): (Z, Q) for m, s, Z, Q in coordinates(X, y, query, wanted)}
    places["raw", None] = X, query
    predictions = {}
    for (method, kind), (setting, parameters) in chosen.items():
        Z, Q = places[method, setting]
        if kind == "k-NN":
            predictions[method, kind] = knn(Z, y, Q, (parameters,))[0]
        else:
            predictions[method, kind] = svm(Z, y, Q, *parameters)
    return predictions


def accuracies(name, methods, n_folds, seed):
    """Return percent correct of each method and classifier over the folds of one split."""
    X, y = rows_of(name, seed)
    correct = {}
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y):
        labels = classified(X[train], y[train], X[test], methods, seed)
        for key, predicted in labels.items():
            correct[key] = correct.get(key, 0) + int((predicted == y[test]).sum())
    return {key: 100.0 * count / len(y) for key, count in correct.items()}


def compared(values, first, second, kind):
    """Mean gain of one method over another, sets won, and the one-sided signed-rank test over the sets."""
    gains = np.array([row[first, kind] - row[second, kind] for row in values.values()])
    return {
        "mean gain": float(gains.mean()),
        "gains": dict(zip(values, gains.round(2).tolist(), strict=True)),
        "at least as good on": int((gains >= 0.0).sum()),
        "within a point on": int((gains >= -1.0).sum()),
        "one-sided Wilcoxon p": float(wilcoxon(gains, alternative="greater").pvalue)
        if gains.any()
        else 1.0,
    }


def shown(values):
    """The table as nested dictionaries, with mean ranks."""
    keys = list(next(iter(values.values())))
    found = {
        name: {f"{m}, {k}": round(row[m, k], 2) for m, k in keys} for name, row in values.items()
    }
    for kind in KINDS:
        columns = [key for key in keys if key[1] == kind]
        ranks = [rankdata([-row[key] for key in columns]) for row in values.values()]
        found[f"mean ranks, {kind}"] = dict(
            zip((m for m, _ in columns), np.mean(ranks, axis=0).round(2).tolist(), strict=True)
        )
    return found


def progress(name, began, row):
    said = ", ".join(f"{m} {k} {v:.1f}" for (m, k), v in row.items())
    print(f"{name} ({time.perf_counter() - began:.0f} s): {said}", file=sys.stderr, flush=True)


def repeated(methods, n_folds, seeds):
    """Return the mean accuracies over repeats, for each table, methods and classifiers."""
    values = {}
    for name in by_size():
        began = time.perf_counter()
        repeats = [accuracies(name, methods, n_folds, seed) for seed in seeds]
        values[name] = {key: float(np.mean([r[key] for r in repeats])) for key in repeats[0]}
        progress(name, began, values[name])
    return values


def gain(folder):  # noqa: ARG001 - no pictures
    """KRR against GRNN: five repeats of five folds on fresh seeds; cross-fitted, and trained on the exact embedding."""
    values = repeated(("KRR", "GRNN", "KRR, exact", "GRNN, exact"), 5, FRESH_SEEDS)
    found = {"rows": {name: len(rows_of(name, 0)[0]) for name in values}, "table": shown(values)}
    for kind in KINDS:
        found[f"KRR over GRNN, {kind}"] = compared(values, "KRR", "GRNN", kind)
        found[f"KRR over GRNN, trained on exact, {kind}"] = compared(
            values, "KRR, exact", "GRNN, exact", kind
        )
        found[f"cross-fitted over exact, KRR, {kind}"] = compared(values, "KRR", "KRR, exact", kind)
        found[f"KRR over raw, {kind}"] = compared(values, "KRR", "raw", kind)
    return found


def table(folder):
    """Ten stratified folds, three times: direct classifiers, supervised Isomap with KRR and with GRNN, A-Isomap."""
    values = repeated(("KRR", "GRNN", "A-Isomap"), 10, TABLE_SEEDS)
    found = {"rows": {name: len(rows_of(name, 0)[0]) for name in values}, "table": shown(values)}
    for kind, other in product(KINDS, ("raw", "GRNN", "A-Isomap")):
        found[f"KRR over {other}, {kind}"] = compared(values, "KRR", other, kind)
    draw(values, folder / "table.png")
    return found


def draw(values, path):
    figure = Figure(figsize=(13, 4.6), layout="constrained")
    places = np.arange(len(values))
    for ax, kind in zip(figure.subplots(1, 2, sharey=True), KINDS, strict=True):
        for number, method in enumerate(("raw", "A-Isomap", "GRNN", "KRR")):
            heights = [row[method, kind] for row in values.values()]
            ax.bar(places + 0.2 * number - 0.3, heights, 0.2, label=method)
        ax.set_xticks(places, values, rotation=45, ha="right")
        ax.set(title=kind, ylim=(50, 101))
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    figure.axes[0].set_ylabel("accuracy, percent")
    save_figure(figure, path)


def check(folder):  # noqa: ARG001 - no pictures
    """The shared loops beside the estimators they stand for: largest differences, relative to the latents' spread."""
    found = {}
    for name, setting in product(
        ("wine", "glass"),
        (
            (5, (0.5, 1.0), 4),
            (15, (1.0, 2.0), 8),
            (5, None, 2),
        ),
    ):
        X, y = table_of(name)
        neighbors, labels, d = setting
        train, query = scaled(X[::2], X[1::2])
        for method, kind in (("KRR", "krr"), ("GRNN", "grnn")):
            options = {"n_neighbors": neighbors, "out_of_sample": kind, "cross_fit": True}
            if labels is None:
                model = AgglomerativeIsomap(d, **options)
            else:
                model = SupervisedIsomap(d, alpha=labels[0], beta=labels[1], **options)
            left_out = model.fit_transform(train, y[::2])
            predicted = model.transform(query)
            ((_, _, Z, Q),) = coordinates(train, y[::2], query, {method: [setting]})
            off = max(np.abs(Z - left_out).max(), np.abs(Q - predicted).max())
            found[f"{name}, {setting}, {method}"] = float(off / model.embedding_.std())
    return found


def pieces(folder):
    """Two Swiss rolls apart, five neighbours: joined, finite, each unrolled."""
    one, flat = make_swiss_roll(800, random_state=0)
    X = np.vstack([one, one + np.array([0.0, 60.0, 0.0])])
    model = AgglomerativeIsomap(2, n_neighbors=5).fit(X)
    halves = [model.embedding_[:800], model.embedding_[800:]]
    figure = Figure(figsize=(9, 4), layout="constrained")
    ax = figure.add_subplot(1, 2, 1, projection="3d")
    color = np.tile(flat[:, 0], 2)
    ax.scatter(*X.T, c=color, s=3)
    ax = figure.add_subplot(1, 2, 2)
    ax.scatter(*model.embedding_.T, c=color, s=3)
    ax.set(title=f"joined from {model.n_pieces_} pieces", aspect="equal")
    save_figure(figure, folder / "pieces.png")
    return {
        "pieces": model.n_pieces_,
        "finite": bool(np.isfinite(model.embedding_).all()),
        "R2 of each roll to its flat form": [procrustes_r2(flat, half) for half in halves],
        "gap between the rolls over their spread": float(
            np.linalg.norm(halves[0].mean(axis=0) - halves[1].mean(axis=0)) / halves[0].std()
        ),
    }


def circle(Z, pose):
    """Principal plane of one object's latents, and the circular correlation of angle and pose, up to four times round.

    Objects that look alike from two or four sides go round as many times.
    """
    Z = Z - Z.mean(axis=0)
    plane = Z @ np.linalg.svd(Z, full_matrices=False)[2][:2].T
    angle = np.arctan2(plane[:, 1], plane[:, 0])
    turns = {n: abs(np.exp(1j * (angle - n * pose)).mean()) for n in (1, -1, 2, -2, 3, -3, 4, -4)}
    best = max(turns, key=turns.__getitem__)
    return plane, abs(best), float(turns[best])


def coil(folder):
    """COIL-20, five neighbours: all objects in one piece, and how well the 72 poses of each follow a closed loop.

    Twenty loops need many dimensions: each is looked at in its own principal plane of 150. Beside it each object is embedded alone, in two.
    """
    data = load_coil20()
    model = AgglomerativeIsomap(150, n_neighbors=5).fit(data.X)
    figure = Figure(figsize=(13, 10), layout="constrained")
    pose = np.deg2rad(data.angle)
    together, alone = {}, {}
    for ax, label in zip(figure.subplots(4, 5).ravel(), np.unique(data.y), strict=True):
        rows = data.y == label
        plane, n_turns, correlation = circle(model.embedding_[rows], pose[rows])
        together[int(label) + 1] = [n_turns, round(correlation, 3)]
        own = AgglomerativeIsomap(2, n_neighbors=5).fit(data.X[rows])
        alone[int(label) + 1] = [round(x, 3) for x in circle(own.embedding_, pose[rows])[1:]]
        ax.plot(*np.vstack([plane, plane[:1]]).T, lw=0.5, color="0.7")
        ax.scatter(*plane.T, c=pose[rows], cmap="twilight", s=8)
        title = f"object {label + 1}: {correlation:.2f}, {n_turns} x"
        ax.set(xticks=[], yticks=[], title=title)
    save_figure(figure, folder / "coil.png")
    return {
        "pieces joined": model.n_pieces_,
        "finite": bool(np.isfinite(model.embedding_).all()),
        "objects with a correlation of 0.9": {
            "together": sum(value[1] >= 0.9 for value in together.values()),
            "alone": sum(value[1] >= 0.9 for value in alone.values()),
        },
        "times round and circular correlation, together": together,
        "times round and circular correlation, alone": alone,
        "residual variance, 2, 10, 150 dimensions": model.residual_variance_[[1, 9, 149]].tolist(),
    }


TIMED = """
import resource, sys, time
import numpy as np
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap
from twofold import AgglomerativeIsomap
X = make_swiss_roll({n}, random_state=0)[0]
AgglomerativeIsomap(n_landmarks=10).fit(X)  # so that loops are compiled
Isomap().fit(X[:200])
began = time.perf_counter()
model = {model}.fit(X)
seconds = time.perf_counter() - began
np.save(sys.argv[1], model.embedding_)
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def timed(folder, n, model):
    """Seconds and peak gigabytes of a fit in a process of its own, and the embedding."""
    path = folder / "embedding.npy"
    done = subprocess.run(
        [sys.executable, "-c", TIMED.format(n=n, model=model), path],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, peak = map(float, done.stdout.split())
    Z = np.load(path)
    path.unlink()
    return seconds, peak, Z


def speed(folder):
    """A Swiss roll of 10,000 x 3 beside scikit-learn's Isomap, with landmarks, and 100,000 rows."""
    theirs = timed(folder, 10_000, "Isomap(n_neighbors=10)")
    exact = timed(folder, 10_000, "AgglomerativeIsomap(n_neighbors=10)")
    some = timed(
        folder, 10_000, "AgglomerativeIsomap(n_neighbors=10, n_landmarks=1_000, random_state=0)"
    )
    many = timed(
        folder, 100_000, "AgglomerativeIsomap(n_neighbors=10, n_landmarks=1_000, random_state=0)"
    )
    return {
        "seconds: scikit-learn, exact, landmarks": [theirs[0], exact[0], some[0]],
        "peak GB: scikit-learn, exact, landmarks": [theirs[1], exact[1], some[1]],
        "exact over scikit-learn, time": exact[0] / theirs[0],
        "exact over scikit-learn, peak memory": exact[1] / theirs[1],
        "scikit-learn over landmarks, time": theirs[0] / some[0],
        "exact over landmarks, time": exact[0] / some[0],
        "R2 of exact to scikit-learn": procrustes_r2(theirs[2], exact[2]),
        "R2 of landmarks to exact": procrustes_r2(exact[2], some[2]),
        "100,000 rows, seconds and peak GB": many[:2],
    }


EXPERIMENTS = {
    "check": check,
    "gain": gain,
    "table": table,
    "pieces": pieces,
    "coil": coil,
    "speed": speed,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)  # joined components
    run(EXPERIMENTS, "sisomap2012", __doc__)
