"""Synthetic manifolds against their definitions; loaders on small files and on the real ones."""

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.utils import Bunch

from twofold import datasets
from twofold.datasets import (
    UCI_NAMES,
    data_folder,
    load_coil20,
    load_mnist,
    load_oil_flow,
    load_uci,
    load_usps,
    make_branching_counts,
    make_disconnected_curves,
    make_noisy_helix,
    make_noisy_spiral,
    make_partitioned_circle,
    make_s_curve,
    make_swiss_roll,
)

# maker, its default number of samples, n_features, n_parameters
MAKERS = [
    (make_noisy_spiral, 300, 2, 1),
    (make_noisy_helix, 300, 3, 1),
    (make_partitioned_circle, 300, 2, 2),
    (make_disconnected_curves, 700, 2, 2),
    (make_s_curve, 500, 3, 2),
    (make_swiss_roll, 1000, 3, 2),
]
ONLY_MAKERS = [row[0] for row in MAKERS]


def along(X, position):
    """Return the chords and the differences of position of samples sorted by position."""
    order = np.argsort(position)
    return np.linalg.norm(np.diff(X[order], axis=0), axis=1), np.diff(position[order])


def assert_arc_length(X, position, rtol=1e-4):
    chords, steps = along(X, position)
    np.testing.assert_allclose(chords.sum(), steps.sum(), rtol=rtol)
    assert (chords <= steps + 1e-6).all()


def assert_uniform(values, low, high):
    """Kolmogorov-Smirnov at the level 1e-4 or so, for a seed that is known to pass."""
    ecdf = (np.sort(values) - low) / (high - low)
    gap = np.abs(ecdf - (np.arange(len(values)) + 0.5) / len(values)).max()
    assert 0 <= ecdf[0] <= ecdf[-1] <= 1
    assert gap < 2.2 / np.sqrt(len(values))


class TestEveryMaker:
    @pytest.mark.parametrize(("maker", "n_samples", "n_features", "n_parameters"), MAKERS)
    def test_shapes_and_types(self, maker, n_samples, n_features, n_parameters):
        for kwargs, n in [({}, n_samples), ({"n_samples": 17}, 17), ({"n_samples": 1}, 1)]:
            X, parameters = maker(**kwargs, random_state=0)
            assert X.shape == (n, n_features)
            assert parameters.shape == (n, n_parameters)
            assert X.dtype == parameters.dtype == np.float64
            assert np.isfinite(X).all()
            assert np.isfinite(parameters).all()

    @pytest.mark.parametrize("maker", ONLY_MAKERS)
    def test_random_state(self, maker):
        before = np.random.get_state()[1].copy()
        X, parameters = maker(random_state=3)
        for again in (3, np.int64(3), np.random.default_rng(3)):
            same = maker(random_state=again)
            np.testing.assert_array_equal(same[0], X)
            np.testing.assert_array_equal(same[1], parameters)
        assert not np.array_equal(maker(random_state=4)[0], X)
        assert not np.array_equal(maker()[0], maker()[0])
        legacy = [maker(random_state=np.random.RandomState(3))[0] for _ in range(2)]
        np.testing.assert_array_equal(*legacy)
        np.testing.assert_array_equal(np.random.get_state()[1], before)

    @pytest.mark.parametrize("maker", ONLY_MAKERS)
    def test_a_generator_moves_on(self, maker):
        rng = np.random.default_rng(0)
        assert not np.array_equal(maker(random_state=rng)[0], maker(random_state=rng)[0])

    @pytest.mark.parametrize("maker", ONLY_MAKERS)
    def test_noise_is_isotropic_and_of_the_stated_size(self, maker):
        clean, parameters = maker(4000, noise=0.0, random_state=0)
        noisy, same = maker(4000, noise=0.3, random_state=0)
        np.testing.assert_array_equal(parameters, same)
        np.testing.assert_allclose((noisy - clean).std(axis=0), 0.3, rtol=0.06)

    @pytest.mark.parametrize("maker", ONLY_MAKERS)
    def test_bad_input(self, maker):
        with pytest.raises(ValueError, match="n_samples=0 must be at least 1"):
            maker(0)
        for noise in (-0.1, np.nan, np.inf):
            with pytest.raises(ValueError, match="must be finite and at least 0"):
                maker(noise=noise)
        with pytest.raises(ValueError, match="random_state='seed'"):
            maker(random_state="seed")


class TestCurves:
    def test_spiral(self):
        X, parameters = make_noisy_spiral(3000, noise=0.0, random_state=0)
        position = parameters[:, 0]
        length = quad(lambda t: np.hypot(0.2 + t / (4 * np.pi), 1 / (4 * np.pi)), 0, 4 * np.pi)[0]
        assert_uniform(position, 0, length)
        assert_arc_length(X, position)
        radius = np.linalg.norm(X, axis=1)
        angle = (radius - 0.2) * 4 * np.pi  # two whorls while the radius grows by one
        np.testing.assert_allclose(X, radius[:, None] * np.c_[np.cos(angle), np.sin(angle)])
        assert 0.2 <= radius.min() < 0.21
        assert 1.19 < radius.max() <= 1.2
        assert (np.diff(radius[np.argsort(position)]) >= 0).all()

    def test_helix(self):
        X, parameters = make_noisy_helix(
            3000, noise=0.0, n_turns=2, pitch=0.5, radius=2.0, random_state=0
        )
        length = 2 * np.hypot(2 * np.pi * 2.0, 0.5)
        assert_uniform(parameters[:, 0], 0, length)
        assert_arc_length(X, parameters[:, 0])
        np.testing.assert_allclose(np.hypot(X[:, 0], X[:, 1]), 2.0)
        np.testing.assert_allclose(X[:, 2], parameters[:, 0] / length)  # two turns of rise 0.5

    @pytest.mark.parametrize("name", ["n_turns", "pitch", "radius"])
    @pytest.mark.parametrize("value", [0, -1.0, np.inf])
    def test_bad_helix(self, name, value):
        with pytest.raises(ValueError, match=f"{name}=.* must be finite and greater than 0"):
            make_noisy_helix(**{name: value})

    @pytest.mark.parametrize("n_arcs", [1, 3, 5])
    def test_partitioned_circle(self, n_arcs):
        X, parameters = make_partitioned_circle(
            2000, n_arcs=n_arcs, gap=0.4, noise=0.0, random_state=0
        )
        position, arc = parameters.T
        sector = 2 * np.pi / n_arcs
        np.testing.assert_array_equal(np.unique(arc), np.arange(n_arcs))
        np.testing.assert_allclose(np.bincount(arc.astype(int)), 2000 / n_arcs, rtol=0.2)
        assert_uniform(position, 0, sector - 0.4)
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
        angle = np.mod(np.arctan2(X[:, 1], X[:, 0]), 2 * np.pi)
        np.testing.assert_allclose(np.cos(angle - arc * sector - position), 1)
        for label in range(n_arcs):
            assert_arc_length(X[arc == label], position[arc == label])

    def test_bad_partitioned_circle(self):
        with pytest.raises(ValueError, match="n_arcs=0 must be at least 1"):
            make_partitioned_circle(n_arcs=0)
        for gap in (-0.1, np.pi):
            with pytest.raises(ValueError, match=r"gap=.* less than 2 pi / n_arcs = 3.142"):
                make_partitioned_circle(n_arcs=2, gap=gap)

    def test_disconnected_curves(self):
        X, parameters = make_disconnected_curves(6000, noise=0.0, random_state=0)
        position, curve = parameters.T
        np.testing.assert_array_equal(np.unique(curve), [0, 1, 2])
        lengths = np.array([position[curve == c].max() for c in range(3)])
        shares = np.array([(curve == c).mean() for c in range(3)])
        np.testing.assert_allclose(shares, lengths / lengths.sum(), atol=0.02)
        for c in range(3):
            assert_uniform(position[curve == c], 0, lengths[c])
            assert_arc_length(X[curve == c], position[curve == c])
            apart = np.linalg.norm(X[curve == c, None] - X[curve != c][::20], axis=-1)
            assert apart.min() > 0.4  # eight standard deviations of the default noise

    def test_disconnected_curves_overlap_along_the_first_principal_component(self):
        X, parameters = make_disconnected_curves(random_state=0)
        centered = X - X.mean(axis=0)
        score = centered @ np.linalg.svd(centered, full_matrices=False)[2][0]
        arch, wave, hook = (score[parameters[:, 1] == c] for c in range(3))
        assert wave.min() < arch.min() < arch.max() < wave.max()
        assert max(wave.min(), hook.min()) < min(wave.max(), hook.max())


class TestSheets:
    def test_s_curve(self):
        X, parameters = make_s_curve(3000, random_state=0)
        assert_uniform(parameters[:, 0], -1.5 * np.pi, 1.5 * np.pi)
        assert_uniform(parameters[:, 1], 0, 2)
        np.testing.assert_array_equal(X[:, 1], parameters[:, 1])
        assert_arc_length(X[:, [0, 2]], parameters[:, 0])
        upper = X[:, 2] > 0
        center = np.where(upper, 1.0, -1.0)
        np.testing.assert_allclose(np.hypot(X[:, 0], X[:, 2] - center), 1)

    def test_swiss_roll_is_an_isometric_chart(self):
        X, parameters = make_swiss_roll(5000, random_state=0)
        length = quad(lambda t: np.hypot(t, 1.0), 1.5 * np.pi, 4.5 * np.pi)[0]
        assert_uniform(parameters[:, 0], 0, length)
        assert_uniform(parameters[:, 1], 0, 50)
        np.testing.assert_array_equal(X[:, 1], parameters[:, 1])
        assert_arc_length(X[:, [0, 2]], parameters[:, 0])
        angle = np.hypot(X[:, 0], X[:, 2])  # the radius is the angle
        exact = [quad(lambda t: np.hypot(t, 1.0), 1.5 * np.pi, a)[0] for a in angle[:50]]
        np.testing.assert_allclose(parameters[:50, 0], exact, rtol=1e-6)
        np.testing.assert_allclose(X[:, 0], angle * np.cos(angle), atol=1e-9)

    def test_hole(self):
        X, parameters = make_swiss_roll(3000, hole=True, random_state=0)
        unit = parameters / [89.3732747, 50]
        side = np.sqrt(0.21)
        depth = np.abs(unit - 0.5).max(axis=1)
        assert X.shape == (3000, 3)
        assert side / 2 <= depth.min() < side / 2 + 0.01
        # Uniform outside: the area within a depth grows as its square.
        assert_uniform(depth**2, 0.21 / 4, 0.25)

    @pytest.mark.parametrize(("maker", "scale"), [(make_s_curve, 0.02), (make_swiss_roll, 0.5)])
    def test_further_features_are_noise_of_the_stated_scale(self, maker, scale):
        X, parameters = maker(2000, n_features=100, random_state=0)
        assert X.shape == (2000, 100)
        np.testing.assert_array_equal(X[:, :3], maker(2000, random_state=0)[0])
        np.testing.assert_allclose(X[:, 3:].std(axis=0), scale, rtol=0.08)
        correlation = np.corrcoef(X[:, 3:], parameters, rowvar=False)[:97, 97:]
        assert np.abs(correlation).max() < 5 / np.sqrt(2000)

    @pytest.mark.parametrize("maker", [make_s_curve, make_swiss_roll])
    def test_too_few_features(self, maker):
        with pytest.raises(ValueError, match="n_features=2 must be at least 3"):
            maker(10, n_features=2)


def save(folder, file, **arrays):
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, **arrays)


class TestLoaders:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("TWOFOLD_DATA", str(tmp_path))
        return tmp_path

    @pytest.mark.parametrize(
        ("file", "loader", "image_shape"),
        [
            ("oil_flow.npz", load_oil_flow, None),
            ("usps.npz", load_usps, (16, 16)),
            ("mnist.npz", load_mnist, (28, 28)),
            ("coil20_32x32.npz", load_coil20, (32, 32)),
            ("uci/iris.npz", lambda: load_uci("iris"), None),
        ],
    )
    def test_arrays_come_back(self, folder, file, loader, image_shape):
        save(folder, file, X=np.eye(3, dtype=np.uint8), y=np.arange(3))
        bunch = loader()
        assert isinstance(bunch, Bunch)
        np.testing.assert_array_equal(bunch.X, np.eye(3))
        np.testing.assert_array_equal(bunch.y, np.arange(3))
        assert bunch.X.dtype == np.uint8
        assert bunch.get("image_shape") == image_shape

    def test_oil_flow_has_names(self, folder):
        save(folder, "oil_flow.npz", X_train=np.zeros((2, 12)))
        assert load_oil_flow().classes.tolist() == ["homogeneous", "annular", "laminar"]

    @pytest.mark.parametrize("name", UCI_NAMES)
    def test_missing_file(self, folder, name):
        with pytest.raises(FileNotFoundError, match=rf"uci/{name}\.npz.*TWOFOLD_DATA") as caught:
            load_uci(name)
        assert str(folder) in str(caught.value)

    def test_unknown_name(self):
        with pytest.raises(ValueError, match=r"name='abalone' must be one of \['glass', "):
            load_uci("abalone")

    def test_pickled_objects_are_refused(self, folder):
        save(folder, "usps.npz", X=np.array([{}], dtype=object))
        with pytest.raises(ValueError, match="allow_pickle=False"):
            load_usps()

    @pytest.mark.parametrize("value", [None, ""])
    def test_default_folder(self, tmp_path, monkeypatch, value):
        if value is None:
            monkeypatch.delenv("TWOFOLD_DATA", raising=False)
        else:
            monkeypatch.setenv("TWOFOLD_DATA", value)
        inner = tmp_path / "project" / "docs" / "pages"
        inner.mkdir(parents=True)
        monkeypatch.chdir(inner)
        assert data_folder() == tmp_path / "project" / "docs" / "shared" / "data"
        (tmp_path / "project" / "pyproject.toml").touch()
        assert data_folder() == tmp_path / "shared" / "data"

    def test_tilde_is_the_home(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("USERPROFILE", str(tmp_path))
        monkeypatch.setenv("TWOFOLD_DATA", "~/data")
        assert data_folder() == tmp_path / "data"


def load_or_skip(loader, *args):
    try:
        return loader(*args)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


class TestRealFiles:
    def test_oil_flow(self):
        bunch = load_or_skip(load_oil_flow)
        assert bunch.X_train.shape == bunch.X_valid.shape == bunch.X_test.shape == (1000, 12)
        assert bunch.frac_train.shape == (1000, 2)
        assert np.bincount(bunch.y_train).tolist() == [343, 316, 341]

    def test_usps(self):
        bunch = load_or_skip(load_usps)
        assert bunch.X_train.shape == (7291, 256)
        assert bunch.X_test.shape == (2007, 256)
        twos = bunch.X_train[bunch.y_train == 2]
        # Meinicke et al. (2005), section 4.2
        assert len(twos) == 731
        assert twos.var(axis=0).sum() == pytest.approx(114.96, abs=0.01)

    def test_mnist(self):
        bunch = load_or_skip(load_mnist)
        assert bunch.X_train.shape == (60000, 784)
        assert bunch.X_test.shape == (10000, 784)
        assert bunch.X_train.dtype == np.uint8

    def test_coil20(self):
        bunch = load_or_skip(load_coil20)
        assert bunch.X.shape == (1440, 1024)
        assert np.bincount(bunch.y).tolist() == [72] * 20
        np.testing.assert_array_equal(bunch.angle[:72], np.arange(0, 360, 5))

    @pytest.mark.parametrize("name", UCI_NAMES)
    def test_uci(self, name):
        bunch = load_or_skip(load_uci, name)
        suffixes = ["_train", "_test"] if "X_train" in bunch else [""]
        for suffix in suffixes:
            X, y = bunch["X" + suffix], bunch["y" + suffix]
            assert X.ndim == 2
            assert y.shape == (len(X),)
            assert y.min() == 0


def test_everything_is_exported():
    assert all(hasattr(datasets, name) for name in datasets.__all__)


class TestBranchingCounts:
    def test_shapes_and_seeds(self):
        X, parameters = make_branching_counts(50, 30, n_branches=4, random_state=0)
        assert X.shape == (50, 30)
        assert X.dtype.kind == "i"
        assert X.min() >= 0
        assert set(parameters[:, 0]) == {0.0, 1.0, 2.0, 3.0, 4.0}
        stem = parameters[:, 0] == 0
        assert parameters[stem, 1].max() <= 0.4 <= parameters[~stem, 1].min()
        again = make_branching_counts(50, 30, n_branches=4, random_state=0)[0]
        np.testing.assert_array_equal(X, again)

    def test_library_sizes(self):
        X, _ = make_branching_counts(2000, 40, library_size=500, random_state=0)
        assert 470 < np.median(X.sum(axis=1)) < 530

    def test_dispersion(self):
        """Negative binomial counts vary more than Poisson counts of the same means."""
        spread = []
        for dispersion in (0.0, 1.0):
            X, _ = make_branching_counts(3000, 1, dispersion=dispersion, random_state=0)
            relative = X[:, 0] / X[:, 0].mean()
            spread.append(relative.var())
        np.testing.assert_allclose(spread[1] - spread[0], np.exp(0.35**2), rtol=0.15)

    def test_cells_nearby_are_alike(self):
        X, parameters = make_branching_counts(400, 60, random_state=0)
        logs = np.log1p(X / X.sum(axis=1, keepdims=True) * 2000)
        middle = [
            logs[(parameters[:, 0] == branch) & (parameters[:, 1] > 0.8)].mean(axis=0)
            for branch in (1, 2, 3)
        ]
        apart = np.linalg.norm(middle[0] - middle[1])
        early = logs[(parameters[:, 0] == 1) & (parameters[:, 1] > 0.7)].mean(axis=0)
        assert np.linalg.norm(early - middle[0]) < 0.3 * apart

    @pytest.mark.parametrize(
        "options",
        [
            {"n_samples": 0},
            {"n_features": 0},
            {"n_branches": 0},
            {"library_size": 0.0},
            {"dispersion": -1.0},
        ],
    )
    def test_bad_options(self, options):
        with pytest.raises(ValueError, match=next(iter(options))):
            make_branching_counts(**options)
