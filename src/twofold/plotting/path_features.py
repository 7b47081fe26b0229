"""Features along a path on the map, as a heat map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from twofold.explaining.reference import SCALE
from twofold.explaining.results import PathExplanation
from twofold.numerics.validation import check_int
from twofold.plotting._figures import Axes, Display, plain, plain_texts

WIDTH = 7.0
LINE = 0.28  # inches of a feature


@dataclass(eq=False, repr=False)
class PathFeaturesDisplay(Display):
    """A heat map of the features that change most along a path, the strongest first.

    Colors are decoded values, smoothed over the map, in spreads from the mean. Create it with
    `from_estimator`, or from the result of ``explain_path``.

    Parameters
    ----------
    explanation : PathExplanation
        The path.

    Attributes
    ----------
    ax_, figure_
        Axes and figure.
    image_ : matplotlib AxesImage
        The heat map.
    colorbar_ : matplotlib Colorbar
        The color bar.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from twofold import TwoWay
    >>> from twofold.plotting import PathFeaturesDisplay
    >>> X = load_wine(as_frame=True).data
    >>> model = TwoWay("pca", up="nw", down="nw", scale="standard").fit(X)
    >>> path = np.linspace(model.embedding_[0], model.embedding_[-1], 30)
    >>> display = PathFeaturesDisplay.from_estimator(model, path, n_features=5)
    >>> display.ax_.get_yticklabels()[0].get_text()
    'flavanoids'
    >>> PathFeaturesDisplay(model.explain_path(path)).plot().image_.get_array().shape
    (13, 30)
    """

    explanation: PathExplanation

    @classmethod
    def from_estimator(
        cls, model: Any, Z: Any, *, scale: float = SCALE, **plot_options: Any
    ) -> Self:
        """Explain a path of a fitted model, and draw it.

        Parameters
        ----------
        model : TwoWayEstimator or TableMap
            A fitted model.
        Z : array-like of shape (n_points, n_components)
            The places of the path.
        scale : float, default=0.25
            The width of the smoothing, see `TwoWayEstimator.explain_path`.
        **plot_options
            Options of `plot`, such as ``ax`` and ``n_features``.

        Returns
        -------
        PathFeaturesDisplay
        """
        if not hasattr(model, "explain_path"):
            raise TypeError(
                f"model={type(model).__name__} has no explain_path: give a two-way estimator or a "
                "TableMap, of a pipeline twofold.from_pipeline(pipeline)."
            )
        return cls(model.explain_path(Z, scale=scale)).plot(**plot_options)

    def plot(self, ax: Axes | None = None, *, n_features: int = 15, cmap: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        n_features : int, default=15
            Features to draw, the strongest first.
        cmap : str or Colormap, default=None
            Colors; None means "RdBu_r".

        Returns
        -------
        self
        """
        check_int("n_features", n_features)
        found = self.explanation
        shown = found.order[:n_features]
        ax = self._open(ax, (WIDTH, 1.0 + LINE * len(shown)))
        profiles = found.profiles[:, shown].T
        limit = max(float(np.abs(profiles).max(initial=0.0)), 1e-12)
        self.image_ = ax.imshow(
            profiles,
            aspect="auto",
            interpolation="nearest",
            cmap="RdBu_r" if cmap is None else cmap,
            vmin=-limit,
            vmax=limit,
            extent=(0.0, 1.0, len(shown) - 0.5, -0.5),
        )
        names = [plain(found.feature_names[number]) for number in shown]
        ax.set_yticks(range(len(shown)), names)
        plain_texts(ax.get_yticklabels())
        ax.set_xlabel("along the path")
        self.colorbar_ = self._show_colorbar(self.image_, "spreads from the mean")
        self._settle()
        return self
