"""Which features make a place of a map different: along the map, along paths, between selections.

The results of `explain`, `explain_path` and `explain_difference` of every fitted model.
"""

from twofold.explaining.results import DifferenceExplanation, Explanation, PathExplanation

__all__ = ["DifferenceExplanation", "Explanation", "PathExplanation"]
