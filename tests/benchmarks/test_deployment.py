"""The benchmark of deployment: it runs, and the guide has the table of the record."""

import functools
import json

import numpy as np
import pytest
from sklearn.utils import Bunch

from benchmarks import deployment
from twofold import UKR
from twofold.datasets import make_s_curve

pytest.importorskip("onnxruntime", reason="needs the extra onnx")


def test_it_runs(monkeypatch, capsys, tmp_path):
    X = np.round(20.0 * make_s_curve(260, random_state=0)[0])
    monkeypatch.setattr(deployment, "load_mnist", lambda: Bunch(X_train=X[:160], X_test=X[160:]))
    monkeypatch.setattr(deployment, "N_PROCESSES", 1)
    monkeypatch.setattr(deployment, "UKR", functools.partial(UKR, init="isomap"))
    fresh, known = deployment.in_a_fresh_process, {}

    def once(code, *rest):  # processes take seconds to begin
        return known[code] if code in known else known.setdefault(code, fresh(code, *rest))

    monkeypatch.setattr(deployment, "in_a_fresh_process", once)
    monkeypatch.setattr(deployment, "N_SINGLE", 3)
    path = tmp_path / "record.json"
    deployment.main(["run", str(path), "--rows", "160", "--prototypes", "20"])
    printed = capsys.readouterr().out
    assert "| `save` |" in printed
    record = json.loads(path.read_text(encoding="utf-8"))
    large, exact, small = record["results"]
    assert exact["bytes"] < large["bytes"]
    assert exact["error"] == large["error"]
    assert small["prototypes"] <= 20
    assert small["bytes"] < exact["bytes"]
    assert exact["error"] < small["error"] < 1.0
    page = tmp_path / "page.md"
    page.write_text("\n".join(deployment.MARKS), encoding="utf-8")
    monkeypatch.setattr(deployment, "PAGE", page)
    monkeypatch.setattr(deployment, "KEPT", tmp_path / "kept.json")
    deployment.main(["publish", str(path)])
    assert deployment.table(record) in page.read_text(encoding="utf-8")


def test_the_guide_has_the_table_of_the_record():
    record = json.loads(deployment.KEPT.read_text(encoding="utf-8"))
    assert deployment.table(record) in deployment.PAGE.read_text(encoding="utf-8")
    large, exact, small = record["results"]
    assert exact["bytes"] <= 60e6
    assert abs(exact["error"] / large["error"] - 1.0) < 1e-3
    assert small["bytes"] <= 5e6
    assert small["error"] <= 1.05 * large["error"]
