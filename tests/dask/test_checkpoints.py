"""An interrupted fit that is resumed ends with the bits of one that was not."""

import numpy as np
import pytest
from dask_tables import (
    MANIFOLDS,
    N_ROWS,
    QUICK,
    QUIET,
    Interrupted,
    X,
    assert_same_model,
    chunked,
)

import twofold
from twofold.dask import fit
from twofold.dask._checkpoint import MARK, Checkpoint, FileJournal
from twofold.export.model_files import ModelFileError, load_objects, save_objects

pytestmark = QUIET


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.twofold"


@pytest.fixture
def finished(client, path):
    """A checkpoint of a fit that has ended."""
    fit(twofold.DRUR(**QUICK), chunked(), checkpoint=path)
    return path


def start_by_columns(data, n_components, rng):
    return data[:, :n_components]


def test_other_files_are_not_overwritten(client, path):
    model = twofold.DRUR(**QUICK).fit(X)
    model.save(path)
    with pytest.raises(ModelFileError, match=r"run\.twofold"):
        fit(twofold.DRUR(**QUICK), chunked(), checkpoint=path)
    np.testing.assert_array_equal(twofold.load(path).transform(X[:5]), model.transform(X[:5]))


class TestResumed:
    @pytest.mark.parametrize("when", ["starts", "turn 2", "maps"])
    def test_drur(self, client, local, path, monkeypatch, when):
        model = twofold.DRUR(**QUICK)
        steps = []

        def note(self, name, state):
            note_before(self, name, state)
            steps.append(f"turn {state.turn}")
            if steps[-1] == when:
                raise Interrupted

        def step(self, name, function):
            def watched():
                steps.append(name)
                if name == when:
                    raise Interrupted
                return function()

            return step_before(self, name, watched)

        note_before, step_before = FileJournal.note, FileJournal.step
        monkeypatch.setattr(FileJournal, "note", note)
        monkeypatch.setattr(FileJournal, "step", step)
        with pytest.raises(Interrupted):
            fit(model, chunked(), checkpoint=path)
        assert vars(model) == vars(twofold.DRUR(**QUICK))  # as it was
        made, when = list(steps), "never"
        steps.clear()
        fit(model, chunked(900), checkpoint=path, resume=True)  # other chunks, the same rows
        assert_same_model(model, local)
        assert not set(made[:-1]) - {"turns"} & set(steps)  # no finished step runs again

    @pytest.mark.parametrize(("name", "turn"), [("squared", 3), ("soft", 2)])
    def test_manifolds(self, client, path, monkeypatch, name, turn):
        setting = {"random_state": 0, **MANIFOLDS[name]}
        expected = twofold.PrincipalManifold(1, **setting).fit(X[:2_500])
        model = twofold.PrincipalManifold(1, **setting)

        def note(self, step, state):
            before(self, step, state)
            if state.turn == turn:
                raise Interrupted

        before = FileJournal.note
        monkeypatch.setattr(FileJournal, "note", note)
        with pytest.raises(Interrupted):
            fit(model, chunked(data=X[:2_500]), checkpoint=path)
        monkeypatch.undo()
        fit(model, chunked(data=X[:2_500]), checkpoint=path, resume=True)
        np.testing.assert_array_equal(model.weights_, expected.weights_)
        np.testing.assert_array_equal(model.history_, expected.history_)

    def test_no_file_yet(self, client, local, path):
        model = fit(twofold.DRUR(**QUICK), chunked(), checkpoint=path, resume=True)
        assert_same_model(model, local)

    def test_settings_that_do_not_matter(self, finished, local):
        model = twofold.DRUR(**QUICK, n_jobs=1, store_embedding=False)
        assert_same_model(fit(model, chunked(), checkpoint=finished, resume=True), local)


class TestRefused:
    def test_another_fit(self, finished):
        other = twofold.DRUR(**{**QUICK, "n_centers": 13})
        with pytest.raises(ValueError, match=r"is of another fit: it has \{'n_centers': '12'\}"):
            fit(other, chunked(), checkpoint=finished, resume=True)
        with pytest.raises(ValueError, match=r"another fit.*data"):
            fit(twofold.DRUR(**QUICK), chunked(data=X + 1), checkpoint=finished, resume=True)

    def test_damaged(self, client, path):
        path.write_bytes(b"no archive")
        with pytest.raises(ModelFileError, match="not a model file"):
            fit(twofold.DRUR(**QUICK), chunked(), checkpoint=path, resume=True)

    @pytest.mark.parametrize("attack", ["units", "generators", "rows"])
    def test_forged(self, client, finished, attack):
        """The result of one step in place of that of another one."""
        held = load_objects(finished, MARK, Checkpoint)
        if attack == "generators":
            held.generators.clear()
        elif attack == "units":
            held.steps["units"] = np.ones(3)
        else:
            held.steps = dict.fromkeys(held.steps, np.arange(3) + 10**12)
        save_objects(held, finished, MARK)
        with pytest.raises(ModelFileError, match=r"does not fit this fit .* Use resume=False"):
            fit(twofold.DRUR(**QUICK), chunked(), checkpoint=finished, resume=True)

    def test_a_model(self, client, local, path):
        local.save(path)
        with pytest.raises(ModelFileError, match="not that of a twofold checkpoint"):
            fit(twofold.DRUR(**QUICK), chunked(), checkpoint=path, resume=True)

    def test_other_data_with_the_same_extremes(self, client, path):
        scaled = np.clip(X, np.quantile(X, 0.05, axis=0), np.quantile(X, 0.95, axis=0))
        model = fit(twofold.DRUR(**QUICK), chunked(data=scaled), checkpoint=path)
        for other in (0.999 * scaled + 0.001 * scaled[::-1], scaled[[0, 2, 1, *range(3, N_ROWS)]]):
            with pytest.raises(ValueError, match=r"another fit.*data"):
                fit(model, chunked(data=other), checkpoint=path, resume=True)

    def test_other_generators_and_functions(self, client, path):
        def fitted(seed, **more):
            setting = {**QUICK, "init": start_by_columns}
            setting["random_state"] = np.random.default_rng(seed)
            return fit(twofold.DRUR(**setting), chunked(), checkpoint=path, **more)

        first = fitted(0)
        assert_same_model(fitted(0, resume=True), first)
        with pytest.raises(ValueError, match=r"another fit.*random_state"):
            fitted(1, resume=True)

    def test_an_older_version(self, finished):
        held = load_objects(finished, MARK, Checkpoint)
        del held.facts["recenter"]
        save_objects(held, finished, MARK)
        with pytest.raises(ValueError, match="'recenter': None"):
            fit(twofold.DRUR(**QUICK), chunked(), checkpoint=finished, resume=True)

    def test_a_path_is_needed(self, no_client, tmp_path):
        with pytest.raises(ValueError, match="set checkpoint"):
            fit(twofold.DRUR(), chunked(), resume=True)
        with pytest.raises(FileNotFoundError, match="its folder does not exist"):
            fit(twofold.DRUR(), chunked(), checkpoint=tmp_path / "no" / "run.twofold")
