"""The methods that are compared, by name: functions of a seed, with the package they need."""

from benchmarks.rivals import adapters, networks, ways_back
from twofold import DRUR, SNE, UKR, AgglomerativeIsomap, AutoTwoWay, TwoWay


def _pca(seed):
    from sklearn.decomposition import PCA

    return PCA(2, random_state=seed)


def _umap(seed):
    import umap

    return umap.UMAP(random_state=seed, n_jobs=1)


def _decoded_tsne(seed):
    return ways_back.WithDecoder(adapters.Tsne(seed, 1), ways_back.Neighbors(seed, 1))


OURS = {
    "UKR()": lambda seed: UKR(random_state=seed, n_jobs=1),
    "DRUR()": lambda seed: DRUR(random_state=seed, n_jobs=1),
    "AutoTwoWay()": lambda seed: AutoTwoWay(random_state=seed, n_jobs=1),
    'TwoWay("tsne")': lambda seed: TwoWay("tsne", random_state=seed, n_jobs=1),
    "AgglomerativeIsomap()": lambda seed: AgglomerativeIsomap(random_state=seed, n_jobs=1),
    "SNE()": lambda seed: SNE(random_state=seed, n_jobs=1),
    'UKR(init="isomap")': lambda seed: UKR(init="isomap", random_state=seed, n_jobs=1),
    "TwoWay(UMAP())": lambda seed: TwoWay(_umap(seed), random_state=seed, n_jobs=1),
}
RIVALS = {
    "PCA": _pca,
    "umap-learn": _umap,
    "openTSNE": lambda seed: adapters.Tsne(seed, 1),
    "openTSNE + kNN regression": _decoded_tsne,
    "PaCMAP": adapters.Pacmap,
    "autoencoder (PyTorch)": lambda seed: networks.Autoencoder(seed, 1),
    "variational autoencoder (PyTorch)": lambda seed: networks.VariationalAutoencoder(seed, 1),
}
METHODS = OURS | RIVALS


def shown(name):
    """Return the name in Markdown: code for our classes."""
    return f"`{name}`" if name in OURS else name
