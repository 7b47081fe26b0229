"""One estimator for any table: methods race on held-out rows, and the winner is fitted."""

from twofold.auto.estimator import AutoTwoWay
from twofold.auto.report import RaceReport

__all__ = ["AutoTwoWay", "RaceReport"]
