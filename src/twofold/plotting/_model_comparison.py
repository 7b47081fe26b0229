"""Displays of one fitted model, or of several models side by side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from twofold.base import TwoWayEstimator
from twofold.plotting._figures import Axes, Display
from twofold.plotting._latent_space import Model, final_step


class ModelComparison(Display, ABC):
    """Base of displays with one curve or table per fitted model."""

    @classmethod
    @abstractmethod
    def _of(cls, models: dict[str, TwoWayEstimator]) -> Self:
        """Compute the display of fitted models, by name."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display."""

    @classmethod
    def from_estimator(cls, model: Model, **plot_options: Any) -> Self:
        """Draw the display of a fitted model.

        Parameters
        ----------
        model : TwoWayEstimator or Pipeline that ends in one
            A fitted model, of an estimator that the class lists.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        Display
        """
        return cls.from_estimators({"": model}, **plot_options)

    @classmethod
    def from_estimators(cls, models: Mapping[str, Model], **plot_options: Any) -> Self:
        """Draw several fitted models together, for example one estimator with two kernels.

        Parameters
        ----------
        models : mapping of str to estimator
            Fitted models of one kind, by their names in the legend.
        **plot_options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        Display
        """
        if not models:
            raise ValueError("models is empty: give one fitted model or more, by name.")
        steps = {str(name): final_step(model)._unwrapped for name, model in models.items()}
        return cls._of(steps).plot(**plot_options)
