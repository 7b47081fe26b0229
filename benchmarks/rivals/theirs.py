"""The rivals and the reference lines.

All get two latent dimensions, the same seed and the same number of threads, and otherwise their
defaults. A rival also gets the settings that it needs to take part (KernelPCA a kernel and an
inverse transform), and a map without a way back gets a regression, see
`benchmarks.rivals.ways_back`.
"""

from benchmarks.rivals import adapters, networks, ways_back
from benchmarks.rivals.method import Method


def _same_on_few(make, X):
    """Fit and apply the same model to few rows, to compile its code.

    umap-learn searches neighbors in another way beyond 4,096 rows: then few is 4,200.
    """
    model = make()
    _compile_map(getattr(model, "embedding", model), X)


def _compile_map(model, X):
    """Compile the code of a map; regressions need none."""
    some = X[:4_200] if len(X) > 4_096 else X[:300]
    model.fit(some)
    Z = model.transform(some[:20])
    if getattr(model, "inverse_transform", None) is not None:
        model.inverse_transform(Z)


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


def _umap(seed, threads):  # noqa: ARG001 - a seed would make it serial
    import umap

    return umap.UMAP(n_jobs=threads)


def _pacmap(seed, threads):  # noqa: ARG001 - it uses all cores that it may
    return adapters.Pacmap(seed)


def _decoded(embedding, decoder):
    """Return ``make`` of a map with a decoder."""

    def make(seed, threads):
        return ways_back.WithDecoder(embedding(seed, threads), decoder(seed, threads))

    return make


def _lookup(n_neighbors):
    def make(seed, threads):  # noqa: ARG001 - nothing is random
        from benchmarks.rivals.references import Lookup

        return Lookup(n_neighbors, threads)

    return make


def _kmeans(seed, threads):  # noqa: ARG001 - the search for codewords uses one
    from benchmarks.rivals.references import KMeans

    return KMeans(seed)


NEIGHBORS = (
    '`KNeighborsRegressor(k, weights="distance")` decodes, with k of 3, 5 and 10 by a held-out '
    "fifth of the training rows"
)
NETWORK = (
    "three hidden layers of 256 units, GELU, AdamW 2e-3 with a one-cycle cosine, batches of 64 "
    "(256 from 10,000 rows on), 25 epochs (at least 5,000 and at most 10,000 steps), weights of "
    "the lowest error on a tenth of the training rows"
)

RIVALS = [
    Method(
        "umap-learn",
        _umap,
        "defaults, without a seed, which would make it serial; its own `inverse_transform`",
        "umap-learn",
        short="UMAP",
        warm_up=_same_on_few,
    ),
    Method(
        "umap-learn + kNN",
        _decoded(_umap, ways_back.Neighbors),
        f"defaults, without a seed; {NEIGHBORS}",
        "umap-learn",
        short="UMAP+kNN",
        times_first_call=False,
        warm_up=_same_on_few,
    ),
    Method(
        "umap-learn + network",
        _decoded(_umap, networks.Decoder),
        f"defaults, without a seed; a network in PyTorch decodes: {NETWORK}",
        "umap-learn",
        short="UMAP+net",
        times_first_call=False,
        warm_up=_same_on_few,
    ),
    Method(
        "openTSNE + kNN",
        _decoded(adapters.Tsne, ways_back.Neighbors),
        f"defaults; `n_jobs`, seed; {NEIGHBORS}",
        "openTSNE",
        short="openTSNE+kNN",
        warm_up=_same_on_few,  # its search for neighbors is compiled
    ),
    Method(
        "openTSNE + NNinv",
        _decoded(adapters.Tsne, ways_back.NNinv),
        "defaults of both; rows are scaled to [0, 1] for NNinv; up to 2,000 rows, as it is slow",
        "inverse-projections",
        short="NNinv",
        most_rows=2_000,
        times_first_call=False,
        warm_up=_same_on_few,
    ),
    Method(
        "openTSNE + RBF",
        _decoded(adapters.Tsne, lambda seed, threads: ways_back.Rbf()),
        "defaults of both; RBFinv solves for all training rows: up to 5,000",
        "inverse-projections",
        short="RBF",
        most_rows=5_000,
        times_first_call=False,
        warm_up=_same_on_few,
    ),
    Method(
        "PaCMAP + kNN",
        _decoded(_pacmap, ways_back.Neighbors),
        f"defaults; seed; {NEIGHBORS}",
        "pacmap",
        short="PaCMAP+kNN",
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
        most_values=10_000_000,
    ),
    Method(
        "ugtm",
        lambda seed, threads: adapters.Gtm(seed),
        "`eIGTM` with defaults: posterior means encode, its surface decodes",
        "ugtm",
        seeded=False,
        most_values=10_000_000,
    ),
    Method(
        "GPLVM (GPy)",
        lambda seed, threads: adapters.Gplvm(),
        f"defaults from PCA, at most {adapters.Gplvm.ITERATIONS:,} iterations, no more of them "
        f"after {adapters.Gplvm.SECONDS:g} s; up to 1,500 rows",
        "GPy",
        short="GPLVM",
        seeded=False,
        most_rows=1_500,
    ),
    Method(
        "autoencoder (PyTorch)",
        networks.Autoencoder,
        f"encoder and decoder each with {NETWORK}",
        "torch",
        short="autoencoder",
    ),
    Method(
        "variational autoencoder (PyTorch)",
        networks.VariationalAutoencoder,
        "the networks and the training of the autoencoder; divergence weighted "
        f"{networks.KL_WEIGHT:g} beside the mean squared error of a standardized value; the mean "
        "is decoded",
        "torch",
        short="VAE",
        times_first_call=False,
    ),
]

REFERENCES = [
    Method(
        "nearest training row",
        _lookup(1),
        "searched in the data space: no latents",
        "scikit-learn",
        reference=True,
        seeded=False,
        times_first_call=False,
    ),
    Method(
        "mean of the 5 nearest training rows",
        _lookup(5),
        "searched in the data space: no latents",
        "scikit-learn",
        reference=True,
        seeded=False,
        times_first_call=False,
    ),
    Method(
        "k-means of the data",
        _kmeans,
        "the limit of the codebook errors: K centers of the data, no latents",
        "scikit-learn",
        reference=True,
        seeded=False,
        times_first_call=False,
    ),
]
