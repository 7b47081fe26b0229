"""How far a fitted model can be trusted: errors of decoded values, and what is unusual.

All of it is measured on training rows that the maps do not know: see `twofold.calibration.left_out`
for how they forget rows, `cross_fit` for the residuals, `spread` for standard deviations and
`unusual` for scores of outliers.
"""
