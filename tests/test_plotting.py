import numpy as np
import pytest
from matplotlib.figure import Figure

from twofold import TwoWay
from twofold.density import KernelDensityClassifier
from twofold.plotting import (
    plot_class_borders,
    plot_decoded_images,
    plot_latent_map,
    save_figure,
)


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).random((60, 6))
    return TwoWay("pca", up="nw", down="nw", random_state=0).fit(X)


def is_png(path):
    return path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("labels", [None, np.arange(60) % 12, ["a", "b"] * 30])
def test_latent_map(model, labels, tmp_path):
    ax = plot_latent_map(model, labels=labels, n_grid=20)
    drawn = np.vstack([dots.get_offsets() for dots in ax.collections if hasattr(dots, "get_sizes")])
    points = drawn[np.isin(drawn[:, 0], model.embedding_[:, 0])]
    assert len(points) == 60
    assert is_png(save_figure(ax, tmp_path / "map.png"))


def test_decoded_images(model, tmp_path):
    ax = Figure().add_subplot()
    assert plot_decoded_images(model, (2, 3), n_side=5, ax=ax) is ax
    mosaic = ax.images[0].get_array()
    height, width = mosaic.shape
    assert height % 3 == 0  # two pixels and a gap
    assert width % 4 == 0
    assert max(height // 3, width // 4) == 5
    assert mosaic.min() >= 0.0
    assert mosaic.max() <= 1.0
    # The lower left image of the mosaic is the lower left of the latent grid.
    low = ax.images[0].get_extent()
    assert low[0] < model.embedding_[:, 0].min()
    assert is_png(save_figure(ax, tmp_path / "images.png"))


def test_orientation_of_the_mosaic():
    """A latent that is the brightness of a one-pixel image: bright where the latent is large."""
    Z = np.stack(np.meshgrid(np.linspace(0, 1, 12), np.linspace(0, 1, 12)), -1).reshape(-1, 2)
    X = np.column_stack([Z[:, 1], Z[:, 0]])
    model = TwoWay(Z, up="krr", down="nw", random_state=0).fit(X)
    mosaic = plot_decoded_images(model, (1, 2), n_side=6).images[0].get_array()
    first, second = mosaic[::2, 0::3], mosaic[::2, 1::3]
    assert first[1:-1, 2].argmin() < 2  # first pixel grows with latent 2: darkest ink at the top
    assert second[2, 1:-1].argmin() >= 2  # second pixel grows with latent 1: darkest to the right


def test_files_are_complete_or_absent(model, tmp_path):
    ax = plot_latent_map(model, n_grid=20)
    assert save_figure(ax, tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")
    (tmp_path / "old.png").mkdir()
    with pytest.raises(OSError, match="old"):
        save_figure(ax, tmp_path / "old.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.pdf", "old.png"]


def test_wrong_sizes(model):
    with pytest.raises(ValueError, match="labels has 3 entries"):
        plot_latent_map(model, labels=[1, 2, 3])
    with pytest.raises(ValueError, match=r"image_shape=\(8, 8\) has 64 pixels"):
        plot_decoded_images(model, (8, 8))


def test_needs_two_dimensions():
    model = TwoWay("pca", n_components=1).fit(np.random.default_rng(0).random((30, 3)))
    with pytest.raises(ValueError, match="1 latent dimensions"):
        plot_latent_map(model)


def test_class_borders(model):
    Z, labels = model.embedding_, np.arange(60) % 3
    classifier = KernelDensityClassifier().fit(Z, labels)
    ax = plot_class_borders(model, classifier, Z[:30], labels[:30], n_grid=40)
    assert len(ax.get_legend().get_texts()) == 3
    with pytest.raises(ValueError, match="labels has 3 entries"):
        plot_class_borders(model, classifier, Z, labels[:3])
