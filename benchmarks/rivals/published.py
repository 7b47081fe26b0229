"""Published errors of two latents, beside which a run's own errors are shown."""

from benchmarks.rivals.summary import rows_of

SOURCE = (
    "T. Sainburg, L. McInnes and T. Q. Gentner. Parametric UMAP embeddings for representation and "
    "semisupervised learning. *Neural Computation* 33(11), 2021"
)
MNIST = {
    "UMAP/autoencoder": 0.0360,
    "autoencoder": 0.0369,
    "variational autoencoder": 0.0371,
    "parametric UMAP": 0.0374,
    "UMAP": 0.0393,
    "PCA": 0.0557,
}
"""Mean squared error of a pixel in [0, 1] on MNIST's test set, from two latents."""


def mse_in_units(data, row):
    """Return a row's mean squared error in the units of the file, or None."""
    mse, unit = row.figures.get("mse"), data.get("unit")
    return None if mse is None or unit is None else mse * unit**2


def mnist_table(results):
    """Return a section with the published errors and those of this run, sorted; "" without MNIST.

    Reference lines are not shown.
    """
    data = next((one for one in results["sets"] if one["name"] == "MNIST"), None)
    if data is None:
        return ""
    found = {}
    for row in rows_of(results)["MNIST"]:
        mse = mse_in_units(data, row)
        if mse is not None and not row.reference:
            name = f"`{row.method}`" if row.ours else row.method
            found[name] = (mse, "this run")
    lines = [(name, mse, "published") for name, mse in MNIST.items()]
    lines += [(name, *figures) for name, figures in found.items()]
    lines.sort(key=lambda line: line[1])
    table = "\n".join(f"| {name} | {mse:.4f} | {origin} |" for name, mse, origin in lines)
    head = "| method | mean squared error of a pixel | |\n|---|---|---|\n"
    return f"{head}{table}"
