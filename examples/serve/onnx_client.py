"""Encode and decode with onnxruntime alone: neither twofold nor scikit-learn is needed.

python onnx_client.py down.onnx up.onnx rows.npy
"""

import sys

import numpy as np
import onnxruntime


def opened(path):
    """Return a session of an ONNX file."""
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def main(down, up, rows):
    """Print the latents of rows, and the error of what they decode to."""
    encoder, decoder = opened(down), opened(up)
    X = np.load(rows).astype(np.float32)
    (Z,) = encoder.run(None, {"X": X})
    (again,) = decoder.run(None, {"Z": Z})
    print(Z)
    print("root mean square error:", float(np.sqrt(np.square(X - again).mean())))


if __name__ == "__main__":
    main(*sys.argv[1:])
