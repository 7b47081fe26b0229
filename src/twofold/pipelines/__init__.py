"""Fitted pipelines of scikit-learn as one model, in the data's own units."""

from twofold.pipelines.conversion import from_pipeline, model_of

__all__ = ["from_pipeline", "model_of"]
