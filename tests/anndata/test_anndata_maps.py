"""Maps of AnnData: what is written, genes by name, units, views, files, bad input."""

import builtins

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.manifold import TSNE

import twofold.anndata
from benchmarks.fuzz._forging import Forged
from twofold import UKR, AutoTwoWay, ModelFileError, TwoWay
from twofold.anndata import AnnDataMap
from twofold.counts import LogCounts
from twofold.datasets import make_branching_counts

anndata = pytest.importorskip("anndata")

N, D = 160, 25
X, PARAMETERS = make_branching_counts(N, D, random_state=0)
NAMES = [f"gene{number}" for number in range(D)]
FLAT = TwoWay("pca", up="nw", down="nw", random_state=0)
KINDS = {
    "array": np.asarray,
    "csr_matrix": sparse.csr_matrix,
    "csc_matrix": sparse.csc_matrix,
    "csr_array": sparse.csr_array,
}


def cells(table=X, names=NAMES, dtype=np.float32):
    table = table.astype(dtype)
    made = anndata.AnnData(table, obs=pd.DataFrame(index=[f"c{k}" for k in range(table.shape[0])]))
    made.var_names = names
    return made


class TestFit:
    @pytest.mark.parametrize("kind", KINDS)
    def test_results(self, kind):
        adata = cells(KINDS[kind](X))
        before = adata.X.copy()
        fitted = twofold.anndata.fit(adata, UKR(random_state=0))
        assert isinstance(fitted, AnnDataMap)
        np.testing.assert_array_equal(adata.obsm["X_twofold"], fitted.model.embedding_)
        assert adata.obsm["X_twofold"].shape == (N, 2)
        scores = adata.varm["twofold"]["r2"]
        assert scores.index.equals(adata.var_names)
        assert 0.3 < scores.median() < 1.0
        facts = adata.uns["twofold"]
        assert facts["method"] == "UKR"
        assert facts["counts"]
        assert facts["layer"] == "X"
        assert list(facts["genes"]) == NAMES
        assert facts["target_sum"] == np.median(X.sum(axis=1))
        assert 0.3 < facts["score"] < 1.0
        assert facts["score_of"] == "leave-one-out"
        assert facts["model"].dtype == np.uint8
        assert type(adata.X) is type(before)
        np.testing.assert_array_equal(_dense(adata.X), _dense(before))

    def test_sparse_and_dense_agree(self):
        one = cells()
        twofold.anndata.fit(one, FLAT)
        for kind in list(KINDS)[1:]:
            other = cells(KINDS[kind](X))
            twofold.anndata.fit(other, FLAT)
            difference = abs(one.obsm["X_twofold"] - other.obsm["X_twofold"]).max()
            assert difference < 1e-5

    def test_the_default_model(self):
        adata = cells()
        fitted = twofold.anndata.fit(adata, random_state=0)
        assert isinstance(fitted.model, AutoTwoWay)
        assert adata.uns["twofold"]["method"] == type(fitted.model.best_estimator_).__name__
        assert adata.uns["twofold"]["score_of"] == "held-out rows"

    def test_the_scores_of_genes(self):
        """Against the definition; a constant gene has no score."""
        table = X.copy()
        table[:, 4] = 0
        adata = cells(table)
        fitted = twofold.anndata.fit(adata, FLAT)
        logs = LogCounts().fit_transform(table.astype(np.float32))
        images = fitted.model.inverse_transform(adata.obsm["X_twofold"])
        expected = 1 - ((logs - images) ** 2).sum(axis=0) / ((logs - logs.mean(axis=0)) ** 2).sum(
            axis=0, where=np.arange(D) != 4, initial=1e-30
        )
        scores = adata.varm["twofold"]["r2"].to_numpy()
        assert np.isnan(scores[4])
        np.testing.assert_allclose(np.delete(scores, 4), np.delete(expected, 4), rtol=1e-4)

    def test_a_part_of_the_rows(self):
        """A map fitted to a part of the rows, as by seconds that do not suffice, places all."""

        class Part(TwoWay):
            def fit(self, X, y=None, sample_weight=None):
                return super().fit(X[:100])

        adata = cells()
        fitted = twofold.anndata.fit(adata, Part("pca", up="nw", down="nw"), store_model=False)
        np.testing.assert_array_equal(adata.obsm["X_twofold"], fitted.transform(adata))

    def test_two_keys(self):
        adata = cells()
        twofold.anndata.fit(adata, FLAT)
        twofold.anndata.fit(adata, FLAT, key="line", genes=NAMES[:5])
        assert {"X_twofold", "X_line"} <= set(adata.obsm)
        assert twofold.anndata.decode(adata, [[0.0, 0.0]], key="line").shape == (1, 5)
        assert twofold.anndata.decode(adata, [[0.0, 0.0]]).shape == (1, D)

    def test_the_model_is_cloned_and_may_stay_outside(self):
        adata, model = cells(), UKR(random_state=0)
        fitted = twofold.anndata.fit(adata, model, store_model=False)
        assert not hasattr(model, "embedding_")
        assert "model" not in adata.uns["twofold"]
        with pytest.raises(ValueError, match=r"has no model of twofold.*store_model=True"):
            twofold.anndata.decode(adata, [[0.0, 0.0]])
        assert twofold.anndata.decode(fitted, [[0.0, 0.0]]).shape == (1, D)


class TestUnits:
    def test_counts_are_found(self):
        logs = LogCounts().fit_transform(X)
        for table, counts in ((X, True), (logs, False), (np.minimum(X, 1), False), (-X, False)):
            adata = cells(table)
            twofold.anndata.fit(adata, FLAT)
            assert adata.uns["twofold"]["counts"] == counts

    def test_counts_by_hand(self):
        adata = cells(X + 0.5)
        assert twofold.anndata.fit(adata, FLAT).log_counts is None
        assert twofold.anndata.fit(adata, FLAT, counts=True).log_counts is not None
        fitted = twofold.anndata.fit(cells(), FLAT, counts=LogCounts(target_sum=1e4))
        assert fitted.log_counts.target_sum_ == 1e4
        assert twofold.anndata.fit(cells(), FLAT, counts=False).log_counts is None

    def test_decoded_counts(self):
        """Rows of a decoded table have the median library size, or the given ones."""
        adata = cells()
        twofold.anndata.fit(adata, UKR(random_state=0))
        Z = adata.obsm["X_twofold"]
        decoded = twofold.anndata.decode(adata, Z)
        assert list(decoded.columns) == NAMES
        middle = np.median(X.sum(axis=1))
        np.testing.assert_allclose(decoded.sum(axis=1).median(), middle, rtol=0.1)
        sizes = X.sum(axis=1)
        near = twofold.anndata.decode(adata, Z, library_size=sizes).to_numpy()
        np.testing.assert_allclose(near, decoded.to_numpy() * sizes[:, None] / middle, rtol=1e-6)
        assert np.corrcoef(np.log1p(near).ravel(), np.log1p(X).ravel())[0, 1] > 0.8

    def test_chosen_genes_are_those_of_all(self):
        adata = cells()
        twofold.anndata.fit(adata, FLAT)
        Z = pd.DataFrame(adata.obsm["X_twofold"][:7], index=list("abcdefg"))
        whole = twofold.anndata.decode(adata, Z)
        part = twofold.anndata.decode(adata, Z, genes=["gene9", "gene2"])
        pd.testing.assert_frame_equal(part, whole[["gene9", "gene2"]])
        assert list(part.index) == list("abcdefg")
        assert list(twofold.anndata.decode(adata, Z, genes="gene2").columns) == ["gene2"]

    def test_values_that_are_not_counts(self):
        logs = LogCounts().fit_transform(X)
        adata = cells(logs, dtype=np.float64)
        fitted = twofold.anndata.fit(adata, FLAT)
        Z = adata.obsm["X_twofold"]
        np.testing.assert_array_equal(fitted.decode(Z), fitted.model.inverse_transform(Z))
        with pytest.raises(ValueError, match=r"library_size=100.*not counts"):
            fitted.decode(Z, library_size=100)

    def test_layers(self):
        adata = cells(LogCounts().fit_transform(X))
        adata.layers["counts"] = sparse.csr_matrix(X.astype(np.float32))
        fitted = twofold.anndata.fit(adata, FLAT, layer="counts")
        assert fitted.layer == adata.uns["twofold"]["layer"] == "counts"
        assert fitted.log_counts is not None
        query = adata[:20].copy()
        by_layer = fitted.transform(query)
        by_x = fitted.transform(cells(X[:20]), layer="X")
        np.testing.assert_allclose(by_layer, by_x, atol=1e-5)
        with pytest.raises(ValueError, match=r"layer='counts' is not in query.layers"):
            fitted.transform(cells(X[:20]))

    def test_library_sizes_are_sums_over_all_genes(self):
        adata = cells(dtype=np.float64)
        adata.var["highly_variable"] = np.arange(D) % 2 == 0
        fitted = twofold.anndata.fit(adata, FLAT)
        assert list(fitted.genes) == NAMES[::2]
        assert np.isnan(adata.varm["twofold"]["r2"].to_numpy()[1::2]).all()
        logs = LogCounts().fit_transform(X)[:, ::2]
        np.testing.assert_allclose(fitted.model.transform(logs), fitted.transform(adata))
        assert twofold.anndata.fit(adata, FLAT, genes="all").genes.tolist() == NAMES
        decoded = fitted.decode(adata.obsm["X_twofold"], library_size=X.sum(axis=1))
        ratio = decoded.sum().sum() / X[:, ::2].sum()
        assert 0.8 < ratio < 1.2


class TestTransform:
    def setup_method(self):
        self.reference = cells(X[:120])
        self.fitted = twofold.anndata.fit(self.reference, UKR(random_state=0))
        self.expected = self.fitted.transform(cells(X[120:]))

    def test_by_name(self):
        """Genes in another order, beside others."""
        order = np.random.default_rng(0).permutation(D)
        table = np.hstack([X[120:][:, order], np.full((40, 2), 900)])
        query = cells(table, [*np.array(NAMES)[order], "other", "another"])
        latents = twofold.anndata.transform(query, self.reference)
        np.testing.assert_allclose(latents, self.expected, atol=1e-6)
        np.testing.assert_array_equal(query.obsm["X_twofold"], latents)
        assert "twofold" not in query.uns

    def test_missing_genes_are_gaps(self):
        query = cells(X[120:][:, 3:], NAMES[3:])
        with pytest.warns(UserWarning, match=r"lacks 3 of the 25 genes \(12 %\).*'gene0'"):
            latents = self.fitted.transform(query)
        spread = self.reference.obsm["X_twofold"].std()
        assert np.sqrt(np.mean((latents - self.expected) ** 2)) < 0.5 * spread
        for kind in (sparse.csr_matrix, sparse.csc_matrix):
            with pytest.warns(UserWarning, match="lacks"):
                again = self.fitted.transform(cells(kind(X[120:][:, 3:]), NAMES[3:]))
            np.testing.assert_allclose(again, latents, atol=1e-5)

    def test_a_model_without_gaps_gets_means(self):
        del self.fitted.model._gap_filling
        with pytest.warns(UserWarning, match="lacks"):
            latents = self.fitted.transform(cells(X[120:][:, 1:], NAMES[1:]))
        spread = self.reference.obsm["X_twofold"].std()
        assert np.sqrt(np.mean((latents - self.expected) ** 2)) < 0.5 * spread

    def test_sizes_of_a_query_without_some_genes(self):
        """Genes outside of the map that a query lacks do not move its cells systematically."""
        adata = cells(X[:120])
        fitted = twofold.anndata.fit(adata, FLAT, genes=NAMES[:12])
        whole = fitted.transform(cells(X[120:]))
        part = fitted.transform(cells(X[120:][:, :20], NAMES[:20]))
        assert np.abs(whole - part).mean() < 0.25 * adata.obsm["X_twofold"].std()

    def test_most_genes_are_missing(self):
        query = cells(X[120:][:, :10], NAMES[:10])
        with pytest.raises(ValueError, match=r"lacks 15 of the 25 genes \(60 %\).*var_names"):
            self.fitted.transform(query)
        assert "X_twofold" not in query.obsm

    def test_other_units(self):
        query = cells(LogCounts().fit_transform(X[120:]))
        with pytest.warns(UserWarning, match="not whole"):
            self.fitted.transform(query)

    def test_empty_cells(self):
        table = X[120:].copy()
        table[5] = 0
        with pytest.warns(UserWarning, match="Row 5 of query has no counts"):
            latents = self.fitted.transform(cells(table))
        assert np.isfinite(latents).all()


class TestTravel:
    @pytest.mark.parametrize("model", [UKR(random_state=0), TwoWay(TSNE(), random_state=0)])
    def test_h5ad(self, model, tmp_path):
        adata = cells(sparse.csr_matrix(X))
        adata.var["highly_variable"] = np.arange(D) < 20
        fitted = twofold.anndata.fit(adata, model)
        adata.write_h5ad(tmp_path / "cells.h5ad")
        again = anndata.read_h5ad(tmp_path / "cells.h5ad")
        np.testing.assert_array_equal(again.obsm["X_twofold"], adata.obsm["X_twofold"])
        pd.testing.assert_frame_equal(again.varm["twofold"], adata.varm["twofold"])
        assert again.uns["twofold"]["parameters"] == adata.uns["twofold"]["parameters"]
        assert list(again.uns["twofold"]["genes"]) == NAMES[:20]
        Z = again.obsm["X_twofold"]
        pd.testing.assert_frame_equal(twofold.anndata.decode(again, Z), fitted.decode(Z))
        query = cells(X[:9])
        here = fitted.transform(query)
        np.testing.assert_array_equal(twofold.anndata.transform(query, again), here)

    def test_files(self, tmp_path):
        fitted = twofold.anndata.fit(cells(), FLAT)
        fitted.save(tmp_path / "map.twofold")
        again = twofold.anndata.load(tmp_path / "map.twofold")
        assert repr(again) == repr(fitted)
        pd.testing.assert_frame_equal(again.decode([[0.0, 0.5]]), fitted.decode([[0.0, 0.5]]))
        with pytest.raises(ModelFileError, match=r"map\.twofold"):
            twofold.load(tmp_path / "map.twofold")
        FLAT.fit(X).save(tmp_path / "model.twofold")
        with pytest.raises(ModelFileError, match=r"model\.twofold"):
            twofold.anndata.load(tmp_path / "model.twofold")

    def test_damaged_models_are_errors(self):
        """Truncated, flipped, not bytes: an error of model files, and nothing else."""
        adata = cells(X[:40])
        twofold.anndata.fit(adata, FLAT)
        good = adata.uns["twofold"]["model"]
        rng = np.random.default_rng(0)
        damaged = [good[: len(good) * tenth // 10] for tenth in range(10)]
        for _ in range(300):
            flipped = good.copy()
            flipped[rng.integers(len(good))] ^= np.uint8(1 << rng.integers(8))
            damaged.append(flipped)
        damaged += [good.astype(float), good[None], np.array(["model"])]
        n_errors = 0
        for content in damaged:
            adata.uns["twofold"]["model"] = content
            try:
                decoded = twofold.anndata.decode(adata, [[0.0, 0.0]])
            except ModelFileError as error:
                n_errors += 1
                assert "uns['twofold']['model']" in str(error)
            else:
                assert decoded.shape == (1, D)
        assert n_errors > 0.9 * len(damaged)

    @pytest.mark.parametrize(
        "change",
        [
            {"genes": {"$strings": NAMES[:3]}},
            {"genes": {"$strings": [f"{name}x" for name in NAMES]}},
            {"means": {"$strings": NAMES}},
            {"measured_genes": {"$strings": NAMES[:3]}},
            {"model": None},
            {"log_counts": {"$object": 0}},
            {"layer": 5},
            {"whole_numbers": "yes"},
        ],
        ids=["genes", "others", "means", "measured", "model", "counts", "layer", "whole"],
    )
    def test_maps_with_wrong_parts(self, change, tmp_path):
        twofold.anndata.fit(cells(), FLAT).save(tmp_path / "map.twofold")
        forged = Forged((tmp_path / "map.twofold").read_bytes())
        forged.nodes[0]["state"] |= change
        (tmp_path / "map.twofold").write_bytes(forged.signed())
        with pytest.raises(ModelFileError, match=r"map\.twofold"):
            twofold.anndata.load(tmp_path / "map.twofold")

    def test_maps_of_another_class(self, tmp_path):
        twofold.anndata.fit(cells(), FLAT).save(tmp_path / "map.twofold")
        forged = Forged((tmp_path / "map.twofold").read_bytes())
        forged.document["objects"] = [{"class": "Gaussian", "state": {}}]
        (tmp_path / "map.twofold").write_bytes(forged.signed())
        with pytest.raises(ModelFileError, match="holds Gaussian, not AnnDataMap"):
            twofold.anndata.load(tmp_path / "map.twofold")

    def test_wrong_parts_are_not_written(self, tmp_path):
        fitted = twofold.anndata.fit(cells(), FLAT)
        for change in ({"log_counts": LogCounts()}, {"means": np.zeros(2)}, {"model": None}):
            with pytest.raises(ModelFileError, match="cannot be written"):
                AnnDataMap(**(vars(fitted) | change)).save(tmp_path / "map.twofold")


class TestInputs:
    def test_views(self):
        adata = cells()
        view = adata[:100, : D - 2]
        with pytest.warns(UserWarning, match="adata is a view") as caught:
            twofold.anndata.fit(view, FLAT)
        assert len(caught) == 1
        assert not view.is_view
        assert view.obsm["X_twofold"].shape == (100, 2)
        assert twofold.anndata.decode(view, view.obsm["X_twofold"]).shape == (100, D - 2)
        assert "X_twofold" not in adata.obsm
        assert "twofold" not in adata.uns

    @pytest.mark.parametrize("kind", KINDS)
    def test_views_as_queries(self, kind):
        adata = cells(KINDS[kind](X))
        fitted = twofold.anndata.fit(adata, FLAT)
        query = adata[:10]
        with pytest.warns(UserWarning, match="query is a view"):
            latents = fitted.transform(query)
        np.testing.assert_array_equal(query.obsm["X_twofold"], latents)
        np.testing.assert_allclose(latents, fitted.transform(adata)[:10], atol=1e-6)

    def test_backed(self, tmp_path):
        cells().write_h5ad(tmp_path / "cells.h5ad")
        adata = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
        with pytest.raises(ValueError, match=r"adata is backed by.*adata.to_memory\(\)"):
            twofold.anndata.fit(adata, FLAT)
        adata.file.close()

    def test_names_that_are_not_unique(self):
        adata = cells()
        adata.var.index = [*NAMES[:-1], "gene0"]
        with pytest.raises(ValueError, match=r"'gene0' more than once.*var_names_make_unique"):
            twofold.anndata.fit(adata, FLAT)

    def test_a_failed_fit_writes_nothing(self):
        adata = cells(np.full((5, D), 2))
        with pytest.raises(ValueError, match="n_components"):
            twofold.anndata.fit(adata, UKR(n_components=9))
        assert not adata.obsm
        assert not adata.uns

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"model": "ukr"}, "model='ukr' must be an estimator"),
            ({"layer": "raw"}, r"layer='raw' is not in adata.layers"),
            ({"layer": 3}, "layer=3 must be the name"),
            ({"counts": "yes"}, "counts='yes' must be True or False, or 'auto' or a LogCounts"),
            ({"genes": "variable"}, "genes='variable' must be"),
            ({"genes": ["gene1", "nix"]}, "'nix' is not in adata.var_names"),
            ({"genes": ["gene1", "gene1"]}, "more than once"),
            ({"genes": np.zeros(D, bool)}, "chooses no gene"),
            ({"genes": np.ones(3, bool)}, r"mask of shape \(3,\)"),
            ({"genes": [1, 2]}, "genes must be"),
            ({"store_model": "no"}, "store_model="),
        ],
    )
    def test_options(self, options, message):
        with pytest.raises((TypeError, ValueError), match=message):
            twofold.anndata.fit(cells(), **({"model": FLAT} | options))

    def test_other_things(self):
        with pytest.raises(TypeError, match=r"adata must be an anndata.AnnData, not a ndarray"):
            twofold.anndata.fit(X)
        with pytest.raises(TypeError, match="query must be"):
            twofold.anndata.fit(cells(), FLAT).transform(X)
        with pytest.raises(ValueError, match=r"adata.X is None"):
            twofold.anndata.fit(anndata.AnnData(obs=pd.DataFrame(index=["a", "b"])), FLAT)

    def test_unknown_genes(self):
        fitted = twofold.anndata.fit(cells(), FLAT, genes=NAMES[:5])
        with pytest.raises(ValueError, match="'gene7' was not used by the map"):
            fitted.decode([[0.0, 0.0]], genes=["gene7"])
        with pytest.raises(ValueError, match="'nix' is not in the fit"):
            fitted.decode([[0.0, 0.0]], genes=["nix"])
        with pytest.raises(ValueError, match="genes is empty"):
            fitted.decode([[0.0, 0.0]], genes=[])
        with pytest.raises(ValueError, match="Z has 3 columns"):
            fitted.decode([[0.0, 0.0, 0.0]])

    def test_negative_counts(self):
        table = X.astype(float)
        table[3, 2] = -4
        with pytest.raises(ValueError, match="-4 in row 3, column 2"):
            twofold.anndata.fit(cells(table), FLAT, counts=True)

    def test_gaps(self):
        table = X.astype(float)
        table[::5, 3] = np.nan
        adata = cells(table)
        fitted = twofold.anndata.fit(adata, FLAT)
        assert fitted.log_counts is not None
        assert np.isfinite(adata.obsm["X_twofold"]).all()
        assert np.isfinite(adata.varm["twofold"].to_numpy()).all()

    def test_without_the_package(self, monkeypatch):
        real = builtins.__import__

        def refuse(name, *args, **kwargs):
            if name == "anndata":
                raise ImportError(name)
            return real(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", refuse)
        with pytest.raises(ImportError, match=r"pip install 'twofold\[anndata\]'"):
            twofold.anndata.fit(X)


def test_large_sparse_tables_stay_sparse(monkeypatch):
    """With a small limit of cells, all of it in the leading subspace."""
    monkeypatch.setattr("twofold.numerics.sparse_rows.FEW_CELLS", 100)
    adata = cells(sparse.csr_matrix(X))
    fitted = twofold.anndata.fit(adata, UKR(random_state=0))
    logs = LogCounts().fit_transform(sparse.csr_matrix(X.astype(np.float32)))
    np.testing.assert_allclose(adata.uns["twofold"]["score"], fitted.model.score(logs))
    assert adata.uns["twofold"]["score_of"] == "training rows"
    Z = fitted.transform(adata)
    assert Z.shape == (N, 2)
    decoded = fitted.decode(Z, genes=["gene3"], library_size=X.sum(axis=1))
    assert np.corrcoef(np.log1p(decoded["gene3"]), np.log1p(X[:, 3]))[0, 1] > 0.5
    with pytest.warns(UserWarning, match="lacks 2 of"):
        latents = fitted.transform(cells(sparse.csc_matrix(X[:, 2:]), NAMES[2:]))
    assert np.isfinite(latents).all()


def _dense(table):
    return table.toarray() if sparse.issparse(table) else table
