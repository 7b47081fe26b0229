"""A page on which a fitted model can be explored: one HTML file, which needs no server, no network and no Python.

`write` puts into the page the latents of some rows, their data, the density of the latents, and the way up as a short program of arrays
(`twofold.export.programs`), which a few lines of JavaScript evaluate wherever the pointer is. The page's content security policy forbids
every request and every script but its own.
"""

from twofold.export.explorer._write import write

__all__ = ["write"]
