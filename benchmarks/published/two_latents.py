"""Test error of images decoded from two latents: the mean square of a pixel in [0, 1].

Encode the test images, decode their latents, and average ``(x - f(F(x)))^2`` over pixels and
images. A deterministic autoencoder is judged alike: its encoder sees the image as well.
"""

import time
from statistics import median

import numpy as np

from benchmarks.published.methods import METHODS, shown

DEFAULT = ("PCA", "UKR()", "DRUR()", "AutoTwoWay()", "autoencoder (PyTorch)")
ONCE = ("PCA", "AutoTwoWay()", "autoencoder (PyTorch)", "variational autoencoder (PyTorch)")
"""Methods with one seed: of no randomness, or that take long."""


def measure(X_train, X_test, names=DEFAULT, seeds=(0,), say=print):
    """Return the errors of each method, one for each seed, and the seconds of all its steps."""
    found = {}
    for name in names:
        errors, seconds = [], []
        try:
            for seed in seeds[:1] if name in ONCE else seeds:
                began = time.process_time()
                model = METHODS[name](seed)
                model.fit(X_train)
                errors.append(pixel_error(X_test, model.inverse_transform(model.transform(X_test))))
                seconds.append(time.process_time() - began)
        except ImportError as error:
            say(f"{name}: left out, {error}")
            continue
        found[name] = {"errors": errors, "CPU seconds": seconds}
        say(f"{name}: {median(errors):.4f}, {median(seconds):.1f} CPU seconds")
    mean = pixel_error(X_test, np.broadcast_to(X_train.mean(axis=0), X_test.shape))
    return {"rows": len(X_train), "test rows": len(X_test), "mean image": mean, "methods": found}


def pixel_error(X, rebuilt):
    """Return the mean squared error of a pixel."""
    return float(np.square(np.asarray(X, dtype=np.float64) - rebuilt).mean())


def table(record, published):
    """Return the figures in Markdown; ``published`` has rows of a label and a figure as text."""
    lines = [
        "| decoded from two latents | test MSE of a pixel | seeds | CPU seconds |",
        "|---" * 4 + "|",
    ]
    for label, figure in published:
        lines.append(f"| {label} | {figure} | published | |")
    for name, one in record["methods"].items():
        errors = one["errors"]
        spread = f" ({min(errors):.4f} to {max(errors):.4f})" if len(errors) > 1 else ""
        cells = f"{median(errors):.4f}{spread} | {len(errors)} | {median(one['CPU seconds']):.0f}"
        lines.append(f"| {shown(name)}, here | {cells} |")
    lines.append(f"| the mean image, here | {record['mean image']:.4f} | 1 | |")
    return "\n".join(lines)
