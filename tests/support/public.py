"""The modules whose names users may rely on: each name has an example and is in the reference."""

PUBLIC_MODULES = [
    "twofold",
    "twofold.anndata",
    "twofold.auto",
    "twofold.base",
    "twofold.counts",
    "twofold.dask",
    "twofold.datasets",
    "twofold.export.explorer",
    "twofold.export.onnx",
    "twofold.kernels",
    "twofold.losses",
    "twofold.manifold_geometry",
    "twofold.maps",
    "twofold.metrics",
    "twofold.model_selection",
    "twofold.optimize",
    "twofold.plotting",
    "twofold.principal_manifold",
    "twofold.protocols",
    "twofold.ukr",
]
