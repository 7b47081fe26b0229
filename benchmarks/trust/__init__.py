"""Intervals of decoded values, false alarms, and outliers: how far calibrated figures hold.

Rows that the models have never seen judge them. Classes and tables of the design of the scores
(`twofold.calibration.unusual`) do not appear in the comparison with other detectors.
"""
