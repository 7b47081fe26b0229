"""Supervised Isomap: labels shorten distances within classes and lengthen those between.

Before A-Isomap (`twofold.isomap.agglomerative`) distances become dissimilarities (Orsenigo &
Vercellis 2012, Eq. 1; `twofold.geodesics.dissimilarities` describes what that formula leaves open).
Classes then lie apart in the embedding. Whether that helps a classifier depends on the
out-of-sample map, which sees no labels: the exact latents of training rows are separated by their
own labels, better than predictions of new rows can be, and a classifier trained on them trusts the
separation too much. So ``fit_transform`` returns cross-fitted latents: each row is predicted from
the latents of the others, as new rows will be. scikit-learn's ``TargetEncoder`` does the same.

The paper's graph links a row to its nearest neighbors. If classes have more rows than that and lie
apart, all neighbors are of the row's own class: each class is a component, and the agglomeration
joins components by a tree of single edges. Paths between classes then depend on which two rows
happen to be closest, and rows that are close in the data can be far apart in the embedding. Ridge
regression predicts such latents badly. With ``graph="linked"``, the default, every row is also
linked to its nearest row of another class.

To the letter the method of the paper is ``SupervisedIsomap(d, n_neighbors=h, alpha=alpha,
beta="literal", graph="knn", out_of_sample="krr", cross_fit="embedding")``.

Only the map is cross-fitted, not the embedding: a row's label has shaped the graph, and so the
latents of the others that predict it. Therefore do not cross-validate on the output of
``fit_transform``, where noise can look like structure. Cross-validate the whole pipeline, which
never sees held-out labels.

References
----------
* C. Orsenigo and C. Vercellis. Kernel ridge regression for out-of-sample mapping in supervised
  manifold learning. *Expert Systems with Applications* 39(9), 2012.
* X. Geng, D.-C. Zhan and Z.-H. Zhou. Supervised nonlinear dimensionality reduction for
  visualization and classification. *IEEE Transactions on Systems, Man, and Cybernetics B* 35(6),
  2005.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from twofold.base.problem import Learned, Problem
from twofold.geodesics.dissimilarities import Dissimilarities, Supervised
from twofold.isomap.agglomerative import AUTO, AgglomerativeIsomap
from twofold.isomap.out_of_sample import ridge_or_network_by_labels
from twofold.maps.affine import Predictor
from twofold.numerics.validation import (
    RandomLike,
    check_bool,
    check_no_missing,
    check_not_negative,
    check_real,
    is_auto,
    warn_user,
)
from twofold.protocols import AnyArray, Array, IntArray, Map

SATURATION = 0.05
"""Share of saturated pairs above which a warning is given; one gross outlier gives none."""

LITERAL = "literal"
"""Value of ``beta`` for Eq. (1) as printed."""

LINKED = "linked"
"""The graph with an edge from every row to the nearest row of another class."""


class SupervisedIsomap(AgglomerativeIsomap):
    """Isomap of dissimilarities that labels change, with maps that need no labels.

    Use it before a classifier: put both into a scikit-learn pipeline and cross-validate that, so
    labels of held-out rows are never seen. The output of ``fit_transform`` has seen all labels and
    must not be cross-validated by itself. Choose the number of dimensions, neighbors and ``alpha``
    by such a cross-validation; two dimensions are for plots.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Number of latent dimensions. "auto" takes the elbow of the residual variances of ten
        coordinates.
    alpha : float, default=0.5
        In [0, 1]: how far dissimilarities between classes reach down to those within. 1 closes the
        gap for touching rows.
    beta : float, "auto" or "literal", default="auto"
        Divides the squared distances; "auto" means the mean distance. "literal" is Eq. (1) as
        printed: the mean distance in the units of the data, and no scaling of distances, whatever
        ``scale_distances`` is.
    scale_distances : bool, default=True
        Whether distances are divided by their mean first. Without it, dissimilarities depend on the
        units of the data, as in the paper.
    n_neighbors : int or "auto", default="auto"
        Neighbors of each row in the graph, by dissimilarity. "auto" means 10 for the graphs
        "linked" and "knn" and 20 for "mutual", or all others if there are fewer. Components of the
        graph are joined; a warning is given only if a class lies in more than one, since labels are
        meant to separate classes.
    graph : {"linked", "knn", "mutual"}, default="linked"
        Which rows share an edge. "knn" is the paper's graph: every row and its neighbors. "linked"
        adds an edge from every row to the nearest row of another class. "mutual" is that of
        `AgglomerativeIsomap`.
    dissimilarity : {"euclidean", "precomputed"}, default="euclidean"
        As in `AgglomerativeIsomap`; labels change the distances.
    out_of_sample : {"auto", "krr", "grnn"} or Map, default="auto"
        The map from data to latents. "krr" is kernel ridge regression, the paper's choice, "grnn" a
        general regression network. "auto" fits both and predicts each row's label by the five
        nearest latents, all predicted by the other rows; it takes the network if that is right more
        often, by more than one standard error. The map from latents to data is chosen as in
        `AgglomerativeIsomap`, as are the limits.
    n_landmarks, n_centers
        As in `AgglomerativeIsomap`.
    cross_fit : bool or "embedding", default=True
        What ``fit_transform``, which a pipeline trains on, returns: for each row what the encoder
        predicts without it (True), ``transform(X)`` (False), or the exact ``embedding_``
        ("embedding"), on which the paper trains classifiers.
    scale : {"standard", "robust"}, array-like of shape (n_features,) or None, default=None
        Units of the columns, for tables whose columns have different units. "standard" divides each
        column by its standard deviation, "robust" by its interquartile range over 1.349, an array
        by its values. None leaves the columns as they are. Scaling is part of the model: methods
        take and return data in their own units. Only ``reconstruction_error`` and ``score`` measure
        distances in units of the scaled columns.
    random_state, n_jobs, verbose
        As in `AgglomerativeIsomap`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Latents.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    beta_ : float
        The divisor in use: in units of the mean distance if distances are scaled, else in those of
        the data.
    saturation_ : float
        Share of the pairs whose exponents are too large for dissimilarities to differ; above 0.05 a
        warning is given. Another one is given if all exponents are close to 0.
    residual_variance_, n_pieces_, landmarks_
        As in `AgglomerativeIsomap`.
    encoder_, decoder_, density_, n_features_in_, feature_names_in_
        As in every two-way estimator.

    See Also
    --------
    AgglomerativeIsomap : The same without labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from twofold import SupervisedIsomap
    >>> model = make_pipeline(SupervisedIsomap(), KNeighborsClassifier())
    >>> bool(cross_val_score(model, *load_iris(return_X_y=True)).mean() > 0.9)
    True
    """

    _graphs = ("linked", "knn", "mutual")

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        alpha: float = 0.5,
        beta: float | str = "auto",
        scale_distances: bool = True,
        n_neighbors: int | str = "auto",
        graph: str = "linked",
        dissimilarity: str = "euclidean",
        out_of_sample: str | Map = "auto",
        n_landmarks: int | None = None,
        n_centers: int | str = "auto",
        cross_fit: bool | str = True,
        scale: Any = None,
        random_state: RandomLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_components,
            n_neighbors=n_neighbors,
            graph=graph,
            dissimilarity=dissimilarity,
            out_of_sample=out_of_sample,
            n_landmarks=n_landmarks,
            n_centers=n_centers,
            cross_fit=cross_fit,
            scale=scale,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.alpha = alpha
        self.beta = beta
        self.scale_distances = scale_distances

    def _labels(self, data: Array, y: Any) -> AnyArray:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Without "
                "labels use AgglomerativeIsomap."
            )
        labels: AnyArray = column_or_1d(y, warn=True)
        check_consistent_length(data, labels)
        check_no_missing(labels)
        check_classification_targets(labels)
        if len(np.unique(labels)) < 2:
            raise ValueError(
                "y has one class, at least two are needed. Use AgglomerativeIsomap, or labels of "
                "two or more classes."
            )
        return labels

    def _check_settings(self, data: Array) -> None:
        super()._check_settings(data)
        check_bool("scale_distances", self.scale_distances)
        self._checked_beta()
        if check_not_negative("alpha", self.alpha) > 1.0:
            raise ValueError(
                f"alpha={self.alpha!r} must be between 0 and 1: above, dissimilarities between "
                "classes are roots of negative numbers."
            )

    def _checked_beta(self) -> float | None:
        """Return the divisor, or None for the mean distance."""
        if is_auto(self.beta) or self._is_literal:
            return None
        return check_real("beta", self.beta, also=f'{AUTO} or "{LITERAL}"')

    @property
    def _is_literal(self) -> bool:
        return isinstance(self.beta, str) and self.beta == LITERAL

    def _dissimilarities(self, problem: Problem) -> tuple[Dissimilarities, dict[str, Any]]:
        base, spread = self._base_distances(problem)
        scaled = self.scale_distances and not self._is_literal
        unit = None if scaled else 1.0 / max(spread, 1e-300)
        changed = Supervised(
            base, problem.y, alpha=float(self.alpha), beta=self._checked_beta(), unit=unit
        )
        if changed.saturation > SATURATION:
            warn_user(
                f"{100 * changed.saturation:.0f} % of the pairs have exponents e^2 / beta above 36 "
                f"(beta={changed.beta:.3g}), where their dissimilarities no longer differ. Use "
                'scale_distances=True with beta="auto", standardized data, or a larger beta.',
                UserWarning,
            )
        elif changed.vanishing:
            warn_user(
                f"All pairs have exponents e^2 / beta close to 0 (beta={changed.beta:.3g}), where "
                "dissimilarities within classes are negligible "
                'beside the gap between them. Use scale_distances=True with beta="auto", '
                "standardized data, or a smaller beta.",
                UserWarning,
            )
        attributes = {
            "classes_": changed.classes,
            "beta_": changed.beta,
            "saturation_": changed.saturation,
        }
        return changed, attributes

    def _linked_rows(self, dissimilarities: Dissimilarities, n_neighbors: int) -> IntArray:
        neighbors = super()._linked_rows(dissimilarities, n_neighbors)
        if self.graph != LINKED:
            return neighbors
        supervised = cast(Supervised, dissimilarities)
        return np.hstack([neighbors, supervised.nearest_of_others(self.n_jobs)])

    def _best_encoder(self, problem: Problem, Z: Array) -> Predictor:
        return ridge_or_network_by_labels(
            problem.data, Z, np.asarray(problem.y), self.n_centers, problem.rng, self.n_jobs
        )

    def _warn_of_pieces(self, n_pieces: int, graph: csr_array, problem: Problem) -> None:
        """Warn only if a class lies in several components: labels are meant to separate classes."""
        _, piece = connected_components(graph, directed=False)
        classes, labels = np.unique(problem.y, return_inverse=True)
        met = np.unique(labels * n_pieces + piece) // n_pieces
        n_torn = int((np.bincount(met, minlength=len(classes)) > 1).sum())
        if n_torn:
            warn_user(
                f"The neighborhood graph had {n_pieces} connected components, which were joined at "
                f"their closest points; {n_torn} of the {len(classes)} classes lay in more than "
                "one. More neighbors (n_neighbors) would connect them.",
                UserWarning,
            )

    def _learn_constant(self, problem: Problem) -> Learned:
        learned = super()._learn_constant(problem)
        found = {"classes_": np.unique(problem.y), "beta_": 1.0, "saturation_": 0.0}
        return replace(learned, attributes=learned.attributes | found)

    def __sklearn_tags__(self) -> Any:
        """Declare that labels are required."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
