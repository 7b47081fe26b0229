"""Arrays and tensors of other libraries as data: the same result as that of a NumPy array."""

import warnings

import numpy as np
import pytest
from registry import ESTIMATORS
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from twofold import KernelDensityClassifier, TableMap, TwoWay
from twofold.counts import LogCounts
from twofold.datasets import make_s_curve
from twofold.metrics import nearest_neighbor_accuracy, trustworthiness
from twofold.numerics.foreign_arrays import as_numpy

FLAT = TwoWay("pca", up="nw", down="nw", random_state=0)


class Tensor:
    """A tensor by DLPack alone, like one of another library: no ``__array__``, no indexing."""

    requires_grad = False

    def __init__(self, values, device=(1, 0)):
        self.values = np.asarray(values)
        self.device = device
        self.shape, self.dtype, self.ndim = self.values.shape, "tensor.float", self.values.ndim

    def __len__(self):
        return len(self.values)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)


class Arraylike:
    """An object with ``__array__`` and nothing else: no shape, no length, no data type."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


class Broken(Tensor):
    """A tensor of a type that NumPy does not have."""

    def __dlpack__(self, **options):
        raise RuntimeError("no such type: bfloat16")


class BrokenBoth(Broken):
    def __array__(self, dtype=None, copy=None):
        raise NotImplementedError("not in this library")


@pytest.fixture(scope="module")
def X():
    return make_s_curve(60, noise=0.05, random_state=0)[0]


@pytest.fixture(scope="module")
def model(X):
    return clone(FLAT).fit(X)


@pytest.fixture(scope="module")
def table(X):
    return TableMap(FLAT).fit(X)


def read_only(values):
    values = np.array(values)
    values.setflags(write=False)
    return values


@pytest.mark.parametrize("wrap", [Tensor, Arraylike, lambda X: Tensor(read_only(X))])
@pytest.mark.parametrize("name", ["two_way-nw", "isomap", "supervised"])
def test_every_method_takes_them(name, wrap, X):
    y = (X[:, 0] > 0).astype(np.int64)
    before = X.copy()
    plain = clone(ESTIMATORS[name]).fit(X, y)
    given = clone(ESTIMATORS[name]).fit(wrap(X), wrap(y))
    np.testing.assert_array_equal(given.embedding_, plain.embedding_)
    Z = plain.embedding_[:9]
    for method in ("transform", "reconstruct", "reconstruction_error", "score", "impute"):
        found = getattr(given, method)(wrap(X[:9]))
        np.testing.assert_array_equal(found, getattr(plain, method)(X[:9]))
    for method in ("inverse_transform", "log_density"):
        found = getattr(given, method)(wrap(Z))
        np.testing.assert_array_equal(found, getattr(plain, method)(Z))
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("name", ["two_way-nw", "ukr", "isomap", "manifold"])
def test_models_keep_no_reference_to_the_memory(name, X):
    mine = X[:40].copy()
    model = clone(ESTIMATORS[name]).set_params(n_components=1).fit(Tensor(mine))
    before = model.reconstruct(X)
    mine[:] = 0.0
    np.testing.assert_array_equal(model.reconstruct(X), before)


@pytest.mark.parametrize("wrap", [Tensor, Arraylike])
def test_weights_and_starts(wrap, X):
    weights = np.arange(60) % 3
    plain = clone(FLAT).fit(X, sample_weight=weights)
    given = clone(FLAT).fit(wrap(X), sample_weight=wrap(weights))
    np.testing.assert_array_equal(given.embedding_, plain.embedding_)
    assert given.score(wrap(X), sample_weight=wrap(weights)) == plain.score(
        X, sample_weight=weights
    )
    start = X[:, :2]
    plain = TwoWay(start, up="nw", down="nw").fit(X)
    given = TwoWay(wrap(start), up="nw", down="nw").fit(X)
    np.testing.assert_array_equal(given.embedding_, plain.embedding_)


@pytest.mark.parametrize("wrap", [Tensor, Arraylike])
def test_tables(wrap, X):
    plain, weights = TableMap(FLAT).fit(X), np.arange(60) % 3
    given = TableMap(FLAT).fit(wrap(X))
    np.testing.assert_array_equal(given.transform(wrap(X)), plain.transform(X))
    np.testing.assert_array_equal(given.reconstruct(wrap(X)), plain.reconstruct(X))
    np.testing.assert_array_equal(
        TableMap(FLAT).fit(wrap(X), sample_weight=wrap(weights)).embedding_,
        TableMap(FLAT).fit(X, sample_weight=weights).embedding_,
    )
    gaps = X.copy()
    gaps[3, 1] = np.nan
    np.testing.assert_array_equal(plain.impute(wrap(gaps)), plain.impute(gaps))


@pytest.mark.parametrize("wrap", [Tensor, Arraylike])
def test_metrics_counts_and_classifiers(wrap, X):
    Z, y = X[:, :2], np.arange(60) % 2
    assert trustworthiness(wrap(X), wrap(Z)) == trustworthiness(X, Z)
    assert nearest_neighbor_accuracy(
        wrap(Z), wrap(y), wrap(Z), wrap(y)
    ) == nearest_neighbor_accuracy(Z, y, Z, y)
    counts = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(
        LogCounts().fit_transform(wrap(counts)), LogCounts().fit_transform(counts)
    )
    plain = KernelDensityClassifier().fit(Z, y)
    given = KernelDensityClassifier().fit(wrap(Z), wrap(y))
    np.testing.assert_array_equal(given.predict_proba(wrap(Z)), plain.predict_proba(Z))


def test_gaps_and_other_types(model, X):
    gaps = X.copy()
    gaps[3, 1] = np.nan
    np.testing.assert_array_equal(model.transform(Tensor(gaps)), model.transform(gaps))
    for kind in (np.float32, np.float16, np.int64, np.uint8, np.bool_):
        rows = np.abs(10 * X[:5]).astype(kind)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Most rows", UserWarning)
            found, expected = model.transform(Tensor(rows)), model.transform(rows)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_rows_in_a_list(model, X):
    for wrap in (Tensor, Arraylike):
        rows = [wrap(row) for row in X[:5]]
        np.testing.assert_array_equal(model.transform(rows), model.transform(X[:5]))
        np.testing.assert_array_equal(model.transform(tuple(rows)), model.transform(X[:5]))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_results_have_the_type_of_set_output(library, X):
    frames = pytest.importorskip(library)
    model = clone(FLAT).set_output(transform=library).fit(Tensor(X))
    for found in (model.transform(Tensor(X)), clone(model).fit_transform(Tensor(X))):
        assert isinstance(found, frames.DataFrame)
        assert list(found.columns) == ["twoway0", "twoway1"]
        np.testing.assert_array_equal(found.to_numpy(), clone(FLAT).fit(X).transform(X))


def frames_of(values):
    """Return the same columns as frames of several libraries and storages."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    plain = pandas.DataFrame(values, columns=["a", "b", "c"])
    given = {name: [None if v != v else v for v in plain[name].tolist()] for name in plain}
    return {
        "plain": plain,
        "nullable": plain.astype("Float64"),
        "arrow": pandas.DataFrame(
            {name: pandas.Series(column, dtype="double[pyarrow]") for name, column in given.items()}
        ),
        "objects": plain.astype(object).where(plain.notna(), None),
        "polars": polars.DataFrame(given, schema=dict.fromkeys("abc", polars.Float64)),
        "table": arrow.table(given),
    }


@pytest.mark.parametrize("with_gaps", [False, True], ids=["complete", "gaps"])
def test_frames_of_all_storages_are_the_same_data(with_gaps, X):
    values = X.copy()
    if with_gaps:
        values[[3, 17], [1, 2]] = np.nan
    plain = clone(FLAT).fit(values)
    for kind, frame in frames_of(values).items():
        model = clone(FLAT).fit(frame)
        np.testing.assert_array_equal(model.embedding_, plain.embedding_, err_msg=kind)
        np.testing.assert_array_equal(model.transform(frame), plain.transform(values))
        np.testing.assert_array_equal(model.impute(frame), plain.impute(values))
        table = TableMap(clone(FLAT)).fit(frame)
        assert list(table.feature_names_in_) == ["a", "b", "c"]
        assert table.kinds_ == dict.fromkeys("abc", "number"), kind
        found = table.transform(frame)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, TableMap(clone(FLAT)).fit(values).transform(values))


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (Tensor(np.ones((4, 3)), (2, 0)), TypeError, r"on a CUDA device.*X\.cpu\(\)"),
        (Tensor(np.ones((4, 3)), (8, 0)), TypeError, "on a Metal device"),
        (Tensor(np.ones((4, 3)), (99, 0)), TypeError, "on a DLPack 99 device"),
        (Broken(np.ones((4, 3))), TypeError, r"cannot read \(RuntimeError: no such type: bfloat16"),
        (BrokenBoth(np.ones((4, 3))), TypeError, r"cannot read \(NotImplementedError"),
        (Arraylike([["a", "b", "c"]]), ValueError, "could not convert"),
        (Arraylike([[None, {}, object()]]), TypeError, "float.. argument must be"),
        (Arraylike([[1j, 2j, 3j]]), ValueError, "[Cc]omplex"),
        (Arraylike(np.zeros((2, 3), "M8[s]")), ValueError, "without guessing"),
        (Arraylike(np.zeros(2, [("a", float), ("b", int)])), ValueError, "not one of NumPy"),
        (Tensor(np.ones(3)), ValueError, "Expected 2D array, got 1D"),
        (Tensor(np.array(1.0)), ValueError, "Expected 2D array, got scalar"),
        (Arraylike(1.0), ValueError, "Expected 2D array, got scalar"),
        (Tensor(np.ones((2, 2, 3))), ValueError, "dim 3"),
        (Tensor(np.ones((0, 3))), ValueError, "0 sample"),
        (Tensor(np.full((2, 3), np.inf)), ValueError, "infinity, first in row 0, column 0"),
    ],
    ids=range(16),
)
def test_bad_ones(bad, error, message, model, table):
    before = dict(model.__dict__)
    with pytest.raises(error, match=message):
        model.transform(bad)
    for fit in (table.transform, clone(FLAT).fit):
        with pytest.raises((TypeError, ValueError)):
            fit(bad)
    assert dict(model.__dict__) == before


def test_gradients_are_refused(model, X):
    tensor = Tensor(X)
    tensor.requires_grad = True
    message = r"requires gradients.*Pass {}\.detach\(\)"
    with pytest.raises(TypeError, match=message.format("X")):
        model.transform(tensor)
    with pytest.raises(TypeError, match=message.format("Z")):
        model.inverse_transform(tensor)
    with pytest.raises(TypeError, match=message.format("y")):
        clone(FLAT).fit(X, tensor)
    weights = Tensor(np.ones(60))
    weights.requires_grad = True
    with pytest.raises(TypeError, match=message.format("sample_weight")):
        clone(FLAT).fit(X, sample_weight=weights)
    with pytest.raises(NotFittedError):
        clone(FLAT).transform(tensor)


def test_a_device_in_memory_of_the_host_is_read():
    class Pinned(Tensor):
        def __dlpack__(self, **options):
            return self.values.__dlpack__()

        def __array__(self, dtype=None, copy=None):
            return self.values

    found = as_numpy(Pinned(np.ones((2, 3)), (3, 0)), "X")
    np.testing.assert_array_equal(found, np.ones((2, 3)))


def test_memory_errors_pass():
    class Large(Tensor):
        def __dlpack__(self, **options):
            raise MemoryError

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(MemoryError):
        as_numpy(Large(np.ones((2, 2))), "X")


def test_all_else_passes_as_it_is(X):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    sparse = pytest.importorskip("scipy.sparse")
    for given in (
        X,
        X.tolist(),
        [],
        None,
        "text",
        np.ma.masked_array(X, X > 1.0),
        np.float64(1.0),
        sparse.csr_array(X),
        pandas.DataFrame(X),
        pandas.Series(X[:, 0]),
        polars.DataFrame(X),
        polars.Series(X[:, 0]),
    ):
        assert as_numpy(given, "X") is given


def test_torch(model, X):
    torch = pytest.importorskip("torch")
    T = torch.from_numpy(X)
    expected = model.transform(X)
    for given in (T, T.t().contiguous().t(), list(T)):
        np.testing.assert_array_equal(model.transform(given), expected)
    given = clone(FLAT).fit(T, sample_weight=torch.arange(60))
    plain = clone(FLAT).fit(X, sample_weight=np.arange(60))
    np.testing.assert_array_equal(given.embedding_, plain.embedding_)
    for bad in (T.clone().requires_grad_(), T.to_sparse(), T.bfloat16(), T.to("meta")):
        with pytest.raises(TypeError, match=r"^X is a torch\.Tensor .*"):
            model.transform(bad)
