"""Carreira-Perpinan & Lu (2010): parametric dimensionality reduction, sections 2.1 and 3."""
