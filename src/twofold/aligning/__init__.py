"""Maps of several tables in one frame, so that a row of one decodes as a row of another."""

from twofold.aligning.joint import align

__all__ = ["align"]
