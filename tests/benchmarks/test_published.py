"""Published figures: protocols against plain loops, folders of images, and the page."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from benchmarks.harness import kept
from benchmarks.published import __main__ as command
from benchmarks.published import images, measures, page, rotated, two_latents


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:120] / 16.0, y[:120]


class TestTwoLatents:
    def test_error_of_pca(self, digits):
        X = digits[0]
        found = two_latents.measure(X[:90], X[90:], ("PCA",), say=str)
        center = X[:90].mean(axis=0)
        plane = np.linalg.svd(X[:90] - center)[2][:2]
        expected = np.mean([(x - center - plane.T @ (plane @ (x - center))) ** 2 for x in X[90:]])
        assert found["methods"]["PCA"]["errors"] == pytest.approx([expected])
        assert found["mean image"] == pytest.approx(np.square(X[90:] - center).mean())
        assert "| PCA, here |" in two_latents.table(found, page.PUBLISHED_MNIST)

    def test_rivals_that_are_absent_are_left_out(self, digits, monkeypatch):
        def absent(seed):
            raise ImportError("no such package")

        monkeypatch.setitem(two_latents.METHODS, "umap-learn", absent)
        lines = []
        found = two_latents.measure(digits[0], digits[0], ("umap-learn",), say=lines.append)
        assert found["methods"] == {}
        assert "no such package" in lines[0]


class TestImages:
    def test_pictures_and_arrays_of_a_folder(self, tmp_path, digits):
        from matplotlib.image import imsave

        for number, row in enumerate(digits[0][:12]):
            imsave(tmp_path / f"{number:02d}.png", row.reshape(8, 8), cmap="gray", vmin=0, vmax=1)
        np.savez(tmp_path / "bytes.npz", X=(255 * digits[0]).astype(np.uint8))
        np.savez(tmp_path / "parted.npz", X_train=digits[0][:50], X_test=digits[0][50:60])
        found = images.of_folder(tmp_path)
        shapes = {name: (len(a), len(b)) for name, (a, b) in found.items()}
        assert shapes == {"bytes": (100, 20), "parted": (50, 10), tmp_path.name: (10, 2)}
        for parts in found.values():
            assert min(map(np.min, parts)) >= 0.0
            assert max(map(np.max, parts)) <= 1.0
        np.testing.assert_allclose(found["parted"][0], digits[0][:50], atol=1e-6)
        together = np.vstack(found[tmp_path.name])
        gaps = np.abs(together[:, None] - digits[0][:12]).max(axis=2).min(axis=1)
        assert gaps.max() < 0.01

    def test_bad_folders(self, tmp_path, digits):
        from matplotlib.image import imsave

        with pytest.raises(ValueError, match="not a folder"):
            images.of_folder(tmp_path / "absent")
        with pytest.raises(ValueError, match="neither"):
            images.of_folder(tmp_path)
        imsave(tmp_path / "a.png", np.zeros((4, 4)))
        imsave(tmp_path / "b.png", np.zeros((4, 5)))
        with pytest.raises(ValueError, match="2 sizes"):
            images.of_folder(tmp_path)

    def test_the_command(self, tmp_path, digits, capsys):
        np.savez(tmp_path / "mine.npz", X=digits[0])
        written = tmp_path / "mine.json"
        given = ["--images", str(tmp_path), "--methods", "PCA", "--json", str(written)]
        assert command.main(given) == 0
        assert "| PCA, here |" in capsys.readouterr().out
        with pytest.raises(SystemExit):
            command.main(["publish", str(written)])


class TestRotatedDigits:
    def test_round_loops_have_a_perfect_angle(self):
        angles = np.tile(np.linspace(0.0, 2 * np.pi, 90, endpoint=False), 3)
        digit = np.repeat(np.arange(3), 90)
        turned = np.where(digit == 1, -angles, angles) + digit
        circles = np.stack([np.cos(turned), np.sin(turned)], axis=1) + 5.0 * digit[:, None]
        assert rotated.angle_r2(circles, digit, angles) > 0.999
        flat = circles.copy()
        flat[:, 1] = digit
        assert rotated.angle_r2(flat, digit, angles) < 0.8
        drawn = np.random.default_rng(0).standard_normal(circles.shape)
        assert rotated.angle_r2(drawn, digit, angles) < 0.2

    def test_rotations(self, digits):
        X = np.kron(digits[0].reshape(-1, 8, 8), np.ones((4, 4)))[:, 2:30, 2:30].reshape(-1, 784)
        rows, digit, angles = rotated.rotations(255.0 * X, digits[1], 0)
        assert rows.shape == (1080, 784)
        assert np.unique(angles).size == 360
        start = rows[angles == 0.0]
        assert all((np.abs(X - one).max(axis=1) < 1e-9).any() for one in start)
        quarter = rows[(digit == 0) & np.isclose(angles, np.pi / 2)].reshape(28, 28)
        np.testing.assert_allclose(quarter, np.rot90(start[0].reshape(28, 28)), atol=1e-9)


class TestMeasures:
    def test_against_loops(self, digits):
        X, y = digits
        Z = X @ np.random.default_rng(0).standard_normal((64, 2))
        found = measures.judged(X, y, Z)
        orders = []
        centers = [[A[y == label].mean(axis=0) for label in range(10)] for A in (X, Z)]
        pairs = [(i, j) for i in range(10) for j in range(i)]
        for a in range(len(pairs)):
            for b in range(a):
                there, here = (
                    np.linalg.norm(C[pairs[a][0]] - C[pairs[a][1]])
                    > np.linalg.norm(C[pairs[b][0]] - C[pairs[b][1]])
                    for C in centers
                )
                orders.append(there == here)
        assert found["centroid triplets"] == pytest.approx(np.mean(orders))
        hits = []
        for i, z in enumerate(Z):
            distances = np.linalg.norm(Z - z, axis=1)
            distances[i] = np.inf
            near = y[np.argsort(distances, kind="stable")[:10]]
            hits.append(np.bincount(near, minlength=10).argmax() == y[i])
        assert found["10-NN accuracy"] == pytest.approx(np.mean(hits))

    def test_a_perfect_map(self):
        Z = np.random.default_rng(0).standard_normal((80, 2))
        y = (Z[:, 0] > 0).astype(int) + 2 * (Z[:, 1] > 0)
        found = measures.judged(3.0 * Z, y, Z)
        assert found["random triplets"] == found["neighbors kept"] == 1.0
        assert found["centroid triplets"] == 1.0
        assert min(found["10-NN accuracy"], found["SVM accuracy"]) > 0.8

    def test_table(self, digits):
        record = measures.measure(digits, (0,), ("PCA",), say=str)
        assert "**" in measures.table(record)


def test_the_page_is_that_of_the_records():
    assert page.section(kept.read(command.KEPT)) in command.PAGE.read_text(encoding="utf-8")
