"""The kinds of plots of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from twofold.cli.errors import needing
from twofold.protocols import AnyArray

if TYPE_CHECKING:
    from twofold.base.estimator import TwoWayEstimator

__all__ = ["KINDS", "draw"]


@dataclass(frozen=True)
class Kind:
    """A kind of plot: the class of `twofold.plotting` that draws it, and its arguments.

    ``takes`` names optional arguments ("data", "labels", "image_shape").
    """

    display: str
    about: str
    needs_data: bool = False
    takes: tuple[str, ...] = ()


KINDS: Final = {
    "map": Kind("LatentMapDisplay", "the latents over their density", takes=("data", "labels")),
    "decoded": Kind("DecodedGridDisplay", "decoded points of the map", takes=("image_shape",)),
    "error": Kind("ReconstructionErrorDisplay", "the reconstruction error", needs_data=True),
    "manifold": Kind("ManifoldDisplay", "the curve or surface among the data", takes=("data",)),
    "candidates": Kind("CandidatesDisplay", "the initializations that were compared"),
    "learning-curve": Kind("LearningCurveDisplay", "the objective over the iterations"),
}


def draw(
    kind: str,
    model: TwoWayEstimator,
    X: Any = None,
    labels: AnyArray | None = None,
    image_shape: tuple[int, ...] | None = None,
) -> Any:
    """Return the display of a plot; arguments that the kind does not take are ignored."""
    wanted = KINDS[kind]
    with needing("plot"):
        from twofold import plotting

        given = {"labels": labels, "image_shape": image_shape}
        options = {name: given[name] for name in wanted.takes if given.get(name) is not None}
        data = [X] if X is not None and (wanted.needs_data or "data" in wanted.takes) else []
        return getattr(plotting, wanted.display).from_estimator(model, *data, **options)
