"""Measure one method on one set: cost, then quality, then whether its results repeat.

Each step notes its figures at once, so that a job stopped in its third step keeps the first two.
"""

import time

import numpy as np

from benchmarks.harness import memory
from twofold.cli.measurement import judge_map, timed, training_latents
from twofold.metrics import (
    continuity,
    nearest_neighbor_accuracy,
    procrustes_r2,
    random_triplet_accuracy,
    relative_reconstruction_error,
    spearman_distance_correlation,
    trustworthiness,
)

NEIGHBORS = 5
BATCH_ROWS = 20
"""Rows that are encoded again in another batch."""
SINGLE_ROWS = 3


def measure(make, split, notes, *, warm_up=None, repeat_within=0.0):
    """Measure a method on a set.

    Parameters
    ----------
    make : callable
        Returns an unfitted model with ``fit``, ``transform`` and ``inverse_transform``. The last
        two may be missing or None.
    split : Split
        Rows to fit and rows held out.
    notes : Notes
        ``notes.step(name)`` before each step, ``notes.add(**figures)`` after it.
    warm_up : callable, default=None
        See ``Method.warm_up``.
    repeat_within : float, default=0
        The fit is repeated, to see whether it is deterministic, if it took at most these seconds.
    """
    if warm_up is not None:
        notes.step("warm-up")
        warm_up(make, split.X_train)
    model, Z_test = _cost(make, split, notes)
    if Z_test is None:
        return
    _quality(model, split, Z_test, notes)
    notes.step("batches")
    _batches(model, split.X_test, Z_test, notes)
    if "error" in notes.figures:
        notes.step("codebooks")
        _map_quality(model, split, Z_test, notes)
    if notes.figures["fit_seconds"] <= repeat_within:
        notes.step("repetition")
        again = make()
        again.fit(split.X_train)
        notes.add(repeat_gap=_gap(Z_test, _latents(again.transform(split.X_test))))


def measure_reference(make, split, notes):
    """Note the time of a reference line and the errors that it has."""
    notes.step("fit")
    model = make()
    notes.add(fit_seconds=timed(lambda: model.fit(split.X_train))[0])
    notes.step("figures")
    seconds, figures = timed(lambda: model.figures(split.X_test))
    notes.add(figures_seconds=seconds, **figures)


def _cost(make, split, notes):
    """Time the three steps and note the peak memory; return the model and the held-out latents."""
    before = memory.start_counting()
    notes.step("fit")
    model = make()
    processor = time.process_time()
    notes.add(fit_seconds=timed(lambda: model.fit(split.X_train))[0])
    # Of all threads; unlike the wall clock it hardly depends on what else the machine does.
    notes.add(fit_processor_seconds=time.process_time() - processor)
    _note_memory(before, notes)
    if getattr(model, "best_estimator_", None) is not None:
        notes.add(chosen=_chosen(model))
    if getattr(model, "transform", None) is None:
        notes.add(no_transform=True)
        return model, None
    notes.step("transform")
    seconds, Z_test = timed(lambda: model.transform(split.X_test))
    Z_test = _latents(Z_test)
    notes.add(transform_seconds=seconds)
    if getattr(model, "inverse_transform", None) is None:
        notes.add(no_inverse=True)
    else:
        notes.step("inverse_transform")
        seconds, rebuilt = timed(lambda: model.inverse_transform(Z_test))
        notes.add(inverse_seconds=seconds)
        notes.add(
            error=relative_reconstruction_error(split.X_test, rebuilt),
            mse=float(np.square(split.X_test - rebuilt).mean()),
        )
    _note_memory(before, notes)
    return model, Z_test


def _chosen(model):
    """Return the kind of a model's best estimator, and the name of its method if that says more."""
    kind = type(model.best_estimator_).__name__
    name = getattr(model, "method_", kind)
    same = name.replace("_", "").lower() == kind.lower()
    return kind if same else f"{kind}, {name}"


def _quality(model, split, Z_test, notes):
    notes.step("quality")
    notes.add(
        trustworthiness=trustworthiness(split.X_test, Z_test, NEIGHBORS),
        continuity=continuity(split.X_test, Z_test, NEIGHBORS),
        distance_correlation=spearman_distance_correlation(split.X_test, Z_test),
        triplet_accuracy=random_triplet_accuracy(split.X_test, Z_test),
    )
    if split.truth_test is not None:
        notes.add(procrustes_r2=procrustes_r2(split.truth_test, Z_test))
    if split.y_test is not None:
        Z = getattr(model, "embedding_", None)
        Z = _latents(model.transform(split.X_train) if Z is None else Z)
        notes.add(accuracy=nearest_neighbor_accuracy(Z, split.y_train, Z_test, split.y_test))


def _map_quality(model, split, Z_test, notes):
    """Note the codebook errors and the map score, see `twofold.metrics.map_score`."""
    latents = _latents(training_latents(model, split.X_train))
    found = judge_map(model, latents, split.X_test, Z_test, notes.figures["error"])
    errors = {f"codebook_error_{size}": error for size, error in found.codebook_errors.items()}
    notes.add(map_score=found.map_score, **errors)


def _batches(model, X, Z, notes):
    """Note how much the latents of rows change in another batch, or alone."""
    few = slice(None, BATCH_ROWS)
    turned = np.ascontiguousarray(X[few][::-1])
    moved = _gap(Z[few], _latents(model.transform(turned))[::-1], unit=Z)
    notes.add(batch_gap=moved)
    for row in range(min(SINGLE_ROWS, len(X))):
        one = slice(row, row + 1)
        try:
            alone = _latents(model.transform(X[one]))
        except Exception:  # noqa: BLE001 - some cannot, each in its own way, and that is a result
            notes.add(fails_alone=True)
            return
        moved = max(moved, _gap(Z[one], alone, unit=Z))
        notes.add(batch_gap=moved)


def _gap(one, other, unit=None):
    """Return the largest difference, in standard deviations of the latents."""
    spread = float(np.std(one if unit is None else unit, axis=0).max()) or 1.0
    return float(np.abs(one - other).max()) / spread


def _latents(values):
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).any(axis=1).sum())
        raise ValueError(f"NaN or infinity in the latents of {bad} of {len(values)} rows")
    return values


def _note_memory(before, notes):
    peak = memory.peak_bytes()
    notes.add(peak_bytes=peak, extra_bytes=max(0, peak - before))
