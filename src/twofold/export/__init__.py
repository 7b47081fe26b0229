"""Exports of a fitted model: model files, programs of arrays, ONNX, the explorer."""
