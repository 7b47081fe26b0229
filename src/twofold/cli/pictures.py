"""Pictures of a model by the name of their kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from twofold.cli.errors import needing
from twofold.protocols import AnyArray

__all__ = ["KINDS", "draw"]


@dataclass(frozen=True)
class Kind:
    """A kind of picture.

    Parameters
    ----------
    display : str
        The class of `twofold.plotting` that draws it.
    about : str
        What it shows.
    needs : str
        What it cannot do without: "data", "image_shape", or nothing.
    takes : tuple of str
        What else it can use: "data", "labels", "image_shape".
    """

    display: str
    about: str
    needs: str = ""
    takes: tuple[str, ...] = ()


KINDS: Final = {
    "map": Kind("LatentMapDisplay", "the latents over their density", takes=("data", "labels")),
    "decoded": Kind(
        "DecodedGridDisplay", "what places on the map look like", takes=("image_shape",)
    ),
    "error": Kind("ReconstructionErrorDisplay", "how far rows are off the manifold", needs="data"),
    "manifold": Kind("ManifoldDisplay", "the curve or surface among the data", takes=("data",)),
    "candidates": Kind("CandidatesDisplay", "the starts that were compared"),
    "learning-curve": Kind("LearningCurveDisplay", "the objective over the iterations"),
}


def draw(
    kind: str,
    model: Any,
    X: Any = None,
    labels: AnyArray | None = None,
    image_shape: tuple[int, ...] | None = None,
) -> Any:
    """Return the display of a picture.

    Parameters
    ----------
    kind : str
        One of the kinds.
    model : TwoWayEstimator
        A fitted model.
    X : array-like of shape (n_rows, n_features), default=None
        Data, for the kinds that use some.
    labels : ndarray of shape (n_rows,), default=None
        Labels of these rows.
    image_shape : tuple of int, default=None
        Height, width and perhaps channels, for data that are images.
    """
    wanted = KINDS[kind]
    with needing("plot"):
        from twofold import plotting

        given = {"labels": labels, "image_shape": image_shape}
        options = {name: given[name] for name in wanted.takes if given.get(name) is not None}
        data = [X] if X is not None and (wanted.needs == "data" or "data" in wanted.takes) else []
        return getattr(plotting, wanted.display).from_estimator(model, *data, **options)
