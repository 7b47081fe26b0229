"""The sections of docs/published.md, from the records."""

from benchmarks.harness.kept import origin
from benchmarks.published import measures, rotated, two_latents

PUBLISHED_MNIST = (
    ("parametric UMAP, autoencoders, variational autoencoders [1]", "0.0360 to 0.0393"),
    ("PCA [1]", "0.0557"),
)
NOTHING = "No figures have been published yet."

MNIST = (
    "{rows:,} images are fitted. The {test:,} test images are encoded to two latents and decoded. "
    "The error is the mean square of a pixel in [0, 1]."
)
MNIST_SOURCE = (
    "[1] T. Sainburg, L. McInnes and T. Q. Gentner, *Parametric UMAP embeddings for "
    "representation and semisupervised learning*, Neural Computation 33(11), 2021. The authors' "
    "notebooks divide pixels by 255, fit the first 50,000 images and keep 10,000 for validation; "
    "the test images are the same. We quote the published range at second hand. The figure of PCA "
    "is reproduced here, so the errors are in the same units."
)
MNIST_WHY = (
    "`UKR` and `AutoTwoWay` encode an image by the nearest point of the manifold, which the "
    "encoder of a network only approximates, and their decoders keep all training images. `DRUR` "
    "is a small parametric model."
)
ROTATED = (
    "One image each of three classes of MNIST at 360 angles, 1,080 rows: 918 are fitted, 162 "
    "judged. There are {sets} such data sets; the first has the images that the paper's code "
    "draws [2]. All methods run in one call."
)
ROTATED_WHY = (
    "$R^2$ asks whether the angle of a latent around the center of its digit is the angle of "
    "rotation. It is high only if each digit is a round loop about its own center. A loop that is "
    "flattened, or cut open as by t-SNE, has a low $R^2$ although neighbors stay together and "
    "images are decoded well. So `UKR()`, `AutoTwoWay()` and `AgglomerativeIsomap()` are behind "
    "UMAP here: `UKR()` chooses its start by the score of the map, which knows nothing of loops. "
    "`SNE()` keeps loops whole, because it places rows by geodesic distances. `TwoWay(UMAP())` "
    "keeps the loops of UMAP and decodes them with a small part of the error of its own inverse."
)
ROTATED_SOURCE = (
    "[2] A. F. Duque, S. Morin, G. Wolf and K. R. Moon, *Extendable and invertible manifold "
    "learning with geometry regularized autoencoders*, IEEE Big Data 2020. The protocol is that "
    "of the authors' code (`grae/data/images.py` and `grae/metrics/score.py`). The paper's own "
    "figures are not repeated here, because we could not check them against its tables."
)
MEASURES = (
    "Maps of the same rows by all methods in one run, with default settings; the best of a column "
    "in bold. The first five columns are the measures of PaCMAP's paper [3] and the share of the "
    "ten nearest neighbors that the map keeps. The others are ZADU's [4], computed by the package "
    "zadu. Lower is better for {lower}, higher for the rest."
)
PACMAP_SOURCE = (
    "[3] Y. Wang, H. Huang, C. Rudin and Y. Shaposhnik, *Understanding how dimension reduction "
    "tools work*, Journal of Machine Learning Research 22(201), 2021, section 8. The paper maps "
    "all rows, and reports for each measure the best of three settings of each method. Such "
    "figures cannot stand beside samples and default settings, so the methods run here."
)
ZADU_SOURCE = (
    "[4] H. Jeon, A. Cho, J. Jang, S. Lee, J. Hyun, H.-K. Ko, J. Jo and J. Seo, *ZADU: A Python "
    "library for evaluating the reliability of dimensionality reduction embeddings*, IEEE VIS "
    "2023."
)


def section(parts):
    """Return all parts that are kept, each with its command, commit and date."""
    written = [_PARTS[part](record) for part, record in parts.items() if part in _PARTS]
    return "\n\n".join(written) if written else NOTHING


def _said(part, record):
    return origin(f"python -m benchmarks.published {part}", record)


def _mnist(record):
    figures = record["figures"]
    said = MNIST.format(rows=figures["rows"], test=figures["test rows"])
    return "\n\n".join(
        [
            "## MNIST from two latents",
            f"{_said('mnist', record)} {said}",
            two_latents.table(figures, PUBLISHED_MNIST),
            MNIST_WHY,
            MNIST_SOURCE,
        ]
    )


def _rotated(record):
    figures = record["figures"]
    said = ROTATED.format(sets=len(figures["seeds"]))
    return "\n\n".join(
        [
            "## Rotated digits",
            f"{_said('rotated', record)} {said}",
            rotated.table(figures),
            ROTATED_WHY,
            ROTATED_SOURCE,
        ]
    )


def _measures(record):
    said = MEASURES.format(lower=" and ".join(measures.LOWER_IS_BETTER))
    written = ["## Measures of maps", f"{_said('measures', record)} {said}"]
    for name, one in record["figures"].items():
        written += [f"{name}, {one['rows']:,} rows:", measures.table(one)]
    return "\n\n".join([*written, PACMAP_SOURCE, ZADU_SOURCE])


_PARTS = {"mnist": _mnist, "rotated": _rotated, "measures": _measures}
