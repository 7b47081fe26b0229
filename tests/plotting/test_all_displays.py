"""What all displays share: axes, figures, files, and checks of their input."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from drawn_models import RNG, N, model_of
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

from twofold import UKR, TwoWay
from twofold.model_selection import Stability
from twofold.plotting import (
    CandidatesDisplay,
    ClassBordersDisplay,
    DecodedGridDisplay,
    LatentMapDisplay,
    LearningCurveDisplay,
    ManifoldDisplay,
    RateDistortionDisplay,
    ReconstructionErrorDisplay,
    StabilityDisplay,
    StretchDisplay,
    save_figure,
)

ONES = np.ones(N)
STABILITY = Stability(np.zeros((N, 2)), ONES, ONES, ONES, ONES, 1.0, (1.0, 1.0), 3, 10)

DRAWN = {
    "latent map": lambda model, X, ax: LatentMapDisplay.from_estimator(model, ax=ax, n_grid=9),
    "decoded grid": lambda model, X, ax: DecodedGridDisplay.from_estimator(model, n_side=3, ax=ax),
    "manifold": lambda model, X, ax: ManifoldDisplay.from_estimator(
        model, view=(0, 1), n_places=15, ax=ax
    ),
    "candidates": lambda model, X, ax: CandidatesDisplay.from_estimator(model, ax=ax),
    "learning curve": lambda model, X, ax: LearningCurveDisplay.from_estimator(model, ax=ax),
    "rate-distortion": lambda model, X, ax: RateDistortionDisplay.from_estimator(model, X, ax=ax),
    "errors": lambda model, X, ax: ReconstructionErrorDisplay.from_estimator(
        model, X, n_grid=9, ax=ax
    ),
    "stretch": lambda model, X, ax: StretchDisplay.from_estimator(model, X, n_grid=9, ax=ax),
    "stability": lambda model, X, ax: StabilityDisplay(model.embedding_, STABILITY).plot(ax),
    "borders": lambda model, X, ax: ClassBordersDisplay.from_estimator(
        model,
        KNeighborsClassifier().fit(model.embedding_, X[:, 0] > 0),
        model.embedding_,
        X[:, 0] > 0,
        n_grid=9,
        ax=ax,
    ),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_axes_of_yours_and_figures_of_ours(kind):
    model, X = model_of("ukr-2")
    before = dict(vars(model))
    figure = Figure()
    for ax in (figure.add_subplot(1, 2, 1), figure.subfigures(1, 2)[1].add_subplot()):
        display = DRAWN[kind](model, X, ax)
        assert display.ax_ is ax
        assert display.figure_ is figure
    own = DRAWN[kind](model, X, None)
    assert own.figure_ is not figure
    assert own.plot(ax) is own  # again, elsewhere
    assert own.figure_ is figure
    assert vars(model) == before


def test_notebooks_show_displays_and_figures():
    display = CandidatesDisplay(names=["a", "b"], errors=[1.0, 2.0])
    assert display._repr_png_() is None
    display.plot()
    assert display._repr_png_().startswith(b"\x89PNG")
    assert display.figure_._repr_png_() == display._repr_png_()
    for again in (pickle.loads(pickle.dumps(display.figure_)), copy.deepcopy(display.figure_)):
        assert again._repr_png_() == display._repr_png_()


@pytest.mark.parametrize(
    "kind", ["latent map", "decoded grid", "manifold", "errors", "stretch", "stability", "borders"]
)
def test_labels_are_within_the_figure(kind):
    """Axes of fixed proportions do not push their own labels off the page."""
    model, X = model_of("ukr-2")
    display = DRAWN[kind](model, X, None)
    display.figure_.savefig("/dev/null", format="png")
    renderer = display.figure_._get_renderer()
    width, height = display.figure_.bbox.size
    for axis in (display.ax_.xaxis, display.ax_.yaxis):
        box = axis.label.get_window_extent(renderer)
        assert box.x0 >= 0.0
        assert box.y0 >= 0.0
        assert box.x1 <= width
        assert box.y1 <= height
    assert display.ax_.get_aspect() == 1.0


SCRIPT = """
import sys
import numpy as np
from twofold import TwoWay
from twofold.plotting import LatentMapDisplay
assert "matplotlib" not in sys.modules
X = np.random.default_rng(0).random((30, 3))
display = LatentMapDisplay.from_estimator(TwoWay("pca", up="nw", down="nw").fit(X), n_grid=9)
display.figure_.savefig(sys.argv[1])
assert "matplotlib.pyplot" not in sys.modules
sys.modules["matplotlib.figure"] = None
try:
    display.plot()
except ImportError as error:
    assert 'pip install "twofold[plot]"' in str(error)
else:
    raise AssertionError
"""


def test_no_pyplot_and_a_remedy_without_matplotlib(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "map.png"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_only_fitted_two_way_models_are_drawn():
    with pytest.raises(TypeError, match="KNeighborsClassifier is not a two-way estimator"):
        LatentMapDisplay.from_estimator(KNeighborsClassifier())
    with pytest.raises(NotFittedError):
        LatentMapDisplay.from_estimator(UKR())
    four = TwoWay(RNG.random((30, 4)), up="nw", down="nw", random_state=0).fit(RNG.random((30, 5)))
    with pytest.raises(ValueError, match="4 latent dimensions, too many for a picture"):
        LatentMapDisplay.from_estimator(four)
    chosen = LatentMapDisplay.from_estimator(four, components=(3, 0), n_grid=9)
    assert chosen.latents.shape == (30, 2)


def test_files_are_complete_or_absent(tmp_path):
    display = LatentMapDisplay(RNG.random((9, 2))).plot()
    assert save_figure(display, tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")
    assert save_figure(display.ax_, str(tmp_path / "bare")).read_bytes().startswith(b"\x89PNG")
    assert save_figure(display.figure_, tmp_path / "map.svg").read_bytes().startswith(b"<?xml")
    (tmp_path / "old.png").mkdir()
    with pytest.raises(OSError, match="old"):
        save_figure(display, tmp_path / "old.png")
    with pytest.raises(ValueError, match="not supported"):
        save_figure(display, tmp_path / "map.nonsense")
    with pytest.raises(TypeError, match="give a display, a Figure or Axes"):
        save_figure(np.zeros(3), tmp_path / "array.png")
    with pytest.raises(ValueError, match="is not drawn yet"):
        save_figure(LatentMapDisplay(np.zeros((3, 2))), tmp_path / "undrawn.png")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["bare", "map.pdf", "map.svg", "old.png"]
