"""Pictures of an `AutoTwoWay` are those of the estimator that won."""

import numpy as np
import pytest
from auto_winners import POSITION, WINNERS, X, auto_of
from drawn_models import page
from sklearn.neighbors import KNeighborsClassifier

from twofold import AutoTwoWay
from twofold.plotting import (
    CandidatesDisplay,
    ClassBordersDisplay,
    DecodedGridDisplay,
    GeneralizationDisplay,
    LatentMapDisplay,
    LearningCurveDisplay,
    ManifoldDisplay,
    RateDistortionDisplay,
    ReconstructionErrorDisplay,
    ResidualVarianceDisplay,
)

CLASSES = np.median(POSITION) < POSITION


def borders(model):
    Z = model.embedding_
    classifier = KNeighborsClassifier().fit(Z, CLASSES)
    return ClassBordersDisplay.from_estimator(model, classifier, Z, CLASSES, n_grid=9, ax=page())


DRAWN = {
    "latent map": lambda model: LatentMapDisplay.from_estimator(model, X, n_grid=9, ax=page()),
    "decoded grid": lambda model: DecodedGridDisplay.from_estimator(model, n_side=3, ax=page()),
    "manifold": lambda model: ManifoldDisplay.from_estimator(model, n_places=9, ax=page(3)),
    "rate-distortion": lambda model: RateDistortionDisplay.from_estimator(model, X, ax=page()),
    "errors": lambda model: ReconstructionErrorDisplay.from_estimator(
        model, X, n_grid=9, ax=page()
    ),
    "borders": borders,
    "candidates": lambda model: CandidatesDisplay.from_estimator(model, ax=page()),
    "learning curve": lambda model: LearningCurveDisplay.from_estimator(model, ax=page()),
}


def assert_same(found, wanted):
    """Compare displays and what they hold, whatever it is."""
    assert type(found) is type(wanted)
    if isinstance(wanted, np.ndarray):
        np.testing.assert_array_equal(found, wanted)
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    elif isinstance(wanted, dict):
        assert_same(list(found), list(wanted))
        assert_same(list(found.values()), list(wanted.values()))
    elif hasattr(wanted, "__dataclass_fields__"):
        for name in wanted.__dataclass_fields__:
            if name not in ("space", "model"):
                assert_same(getattr(found, name), getattr(wanted, name))
    elif isinstance(wanted, str | int | float | bool | None):
        assert found == wanted


@pytest.mark.parametrize("winner", WINNERS)
@pytest.mark.parametrize("kind", DRAWN)
def test_pictures(kind, winner):
    model, best = auto_of(winner), auto_of(winner).best_estimator_
    try:
        wanted = DRAWN[kind](best)
    except (ValueError, TypeError) as error:  # a winner without candidates or iterations
        assert kind in ("candidates", "learning curve")
        with pytest.raises(type(error), match=type(best).__name__):
            DRAWN[kind](model)
        return
    assert_same(DRAWN[kind](model), wanted)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_report_on_generalization_of_a_principal_manifold_that_won():
    model = auto_of("principal_manifold")
    display = GeneralizationDisplay.from_estimator(model, X, n_repeats=1, ax=page())
    assert display.report.curve is not None
    with pytest.raises(TypeError, match="DRUR has no generalization report"):
        GeneralizationDisplay.from_estimator(auto_of("drur"), X)
    with pytest.raises(TypeError, match="AutoTwoWay has no generalization report"):
        GeneralizationDisplay.from_estimator(AutoTwoWay(), X)


def test_residual_variances():
    models = [auto_of(winner) for winner in ("pca", "drur")]
    display = ResidualVarianceDisplay.from_estimators(models, X, ax=page())
    assert list(display.dimensions) == [2, 2]
    with pytest.raises(ValueError, match="TwoWay keeps no residual variances"):
        ResidualVarianceDisplay.from_estimator(models[0])
