"""A page to explore a fitted model: one HTML file without server, network or Python.

`write` stores the latents of some rows, their data, the density of the latents, and the decoder as
a short program of arrays (`twofold.export.programs`), which JavaScript evaluates at the pointer.
The content security policy of the page forbids all requests and all other scripts.
"""

from twofold.export.explorer._write import write

__all__ = ["write"]
