"""ONNX files of fitted maps, for runtimes without Python.

`export` takes a map apart into the steps of `twofold.export.programs` and writes each as nodes of
an ONNX graph (opset 21). A projection onto the manifold has no such steps; ``distill=True`` writes
a regression instead and reports how far it deviates.

Install the extra: ``pip install "twofold[onnx]"``. Running a file needs a runtime such as
onnxruntime; writing it does not.
"""

from twofold.export.onnx.distillation import Distillation
from twofold.export.onnx.exporting import ExportReport, export

__all__ = ["Distillation", "ExportReport", "export"]
