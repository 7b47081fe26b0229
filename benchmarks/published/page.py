"""The sections of docs/published.md, from the records."""

from benchmarks.harness.kept import origin
from benchmarks.published import measures, rotated, two_latents

PARAMETRIC_UMAP = (
    "T. Sainburg, L. McInnes and T. Q. Gentner, *Parametric UMAP embeddings for representation and "
    "semisupervised learning*, Neural Computation 33(11), 2021"
)
PUBLISHED_MNIST = (
    ("parametric UMAP, autoencoders, variational autoencoders [1]", "0.0360 to 0.0393"),
    ("PCA [1]", "0.0557"),
)
NOTHING = "No figures have been published yet."


def section(parts):
    """Return all parts that are kept, each with its command, commit and date."""
    written = [_PARTS[part](record) for part, record in parts.items() if part in _PARTS]
    return "\n\n".join(written) if written else NOTHING


def _mnist(record):
    figures = record["figures"]
    said = origin("python -m benchmarks.published mnist", record)
    return "\n\n".join(
        [
            "## MNIST from two latents",
            f"{said} {figures['rows']:,} images are fitted and {figures['test rows']:,} test images "
            "are encoded to two latents and decoded. The error is the mean square of a pixel in "
            "[0, 1]; the median of the seeds, and their range.",
            two_latents.table(figures, PUBLISHED_MNIST),
            f"[1] {PARAMETRIC_UMAP}. Its code divides pixels by 255, fits the first 50,000 images "
            "and keeps 10,000 for validation; the test images are the same. The figure of PCA is "
            "reproduced here, so the errors are in the same units. `UKR` and `AutoTwoWay` encode an "
            "image by the nearest point of the manifold, which an autoencoder only approximates, "
            "and keep all training images.",
        ]
    )


def _rotated(record):
    figures = record["figures"]
    said = origin("python -m benchmarks.published rotated", record)
    return "\n\n".join(
        [
            "## Rotated digits",
            f"{said} One image each of three classes of MNIST at 360 angles, 1,080 rows; 918 are "
            f"fitted, 162 judged. {len(figures['seeds'])} data sets; the first has the images of "
            "the paper's code [2]. All methods run in one call.",
            rotated.table(figures),
            "$R^2$ asks whether the angle of a latent around the center of its digit is the angle of "
            "rotation. It is high only if each digit is a round loop about its own center. A loop "
            "that is flattened, or cut open as by t-SNE, has a low $R^2$ although neighbors are "
            "kept and images are decoded well. `SNE()` keeps loops whole, because it places "
            "geodesic distances. `UKR()` chooses its start by the score of the map, which knows "
            "nothing of loops. Give it the start, as in the rows with `isomap`, if the shape of "
            "loops matters.",
            "[2] A. F. Duque, S. Morin, G. Wolf and K. R. Moon, *Extendable and invertible manifold "
            "learning with geometry regularized autoencoders*, IEEE Big Data 2020. The protocol is "
            "that of the authors' code (`grae/data/images.py`, `grae/metrics/score.py`). The paper's "
            "own figures are not repeated here, because we could not check them against its tables.",
        ]
    )


def _measures(record):
    said = origin("python -m benchmarks.published measures", record)
    parts = [
        "## Measures of maps",
        f"{said} Maps of the same rows by all methods in one run, with default settings; medians of "
        "the seeds, the best of a column in bold. The first five columns are those of PaCMAP's "
        "paper [3] and of this library, the others are ZADU's [4], computed by the package zadu. "
        f"Lower is better for {', '.join(measures.LOWER_IS_BETTER)}, higher for the rest.",
    ]
    for name, one in record["figures"].items():
        parts += [f"{name}, {one['rows']:,} rows:", measures.table(one)]
    parts += [
        "[3] Y. Wang, H. Huang, C. Rudin and Y. Shaposhnik, *Understanding how dimension reduction "
        "tools work*, Journal of Machine Learning Research 22(201), 2021, section 8. The paper "
        "maps all rows, tunes each method and reports the best of three settings for each measure. "
        "Its figures cannot stand beside samples and default settings, so the methods were run "
        "here.",
        "[4] H. Jeon, A. Cho, J. Jang, S. Lee, J. Hyun, H.-K. Ko, J. Jo and J. Seo, *ZADU: A Python "
        "library for evaluating the reliability of dimensionality reduction embeddings*, IEEE VIS "
        "2023. Its paper has measures and no figures of maps.",
    ]
    return "\n\n".join(parts)


_PARTS = {"mnist": _mnist, "rotated": _rotated, "measures": _measures}
