"""What happens to one forged file: whether it loads, and what the model does then."""

import pickle
import warnings
import zipfile
from pathlib import Path

import numpy as np

import twofold
from twofold.dask._checkpoint import MARK, Checkpoint
from twofold.export.model_files import describe, load_objects

ALLOWED = (ValueError,)
"""Errors of a loaded model, such as that of rows of another width."""


class Bad(Exception):
    """An outcome that is not documented."""


def outcome_of(content, original, path):
    """Return what becomes of a forged file: "refused", "read", "used", "an error"; or raise `Bad`.

    ``original`` is the file that was forged. Rows to use a model on lie beside it; beside a
    checkpoint, which is only read, there are none.
    """
    path = Path(path)
    path.write_bytes(content)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        rows = Path(original).with_suffix(".pickle")
        model = loaded(path, is_model=rows.exists())
        if model is None:
            return "refused"
        if not rows.exists():
            return "read"
        X, Z = pickle.loads(rows.read_bytes())
        return "used" if _used(model, X, Z) else "an error"


def loaded(path, *, is_model=True):
    """Return the model or checkpoint of a file, None if it is refused; raise `Bad` otherwise."""
    try:
        describe(path)
    except twofold.ModelFileError:
        pass
    except Exception as error:
        raise Bad(f"describe: {error!r}") from error
    try:
        return twofold.load(path) if is_model else load_objects(path, MARK, Checkpoint)
    except twofold.ModelFileError as error:
        if not isinstance(error.__cause__, EXPECTED):
            raise Bad(f"unforeseen: {error.__cause__!r}") from error
        return None
    except Exception as error:
        raise Bad(f"load: {error!r}") from error


EXPECTED = (type(None), OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile)
"""Errors that `zipfile` raises for damaged archives."""


def _used(model, X, Z):
    """Use a model in all ways, and tell whether none of them raised an error."""
    n_out = model._n_features_out
    incomplete = X if hasattr(X, "columns") else np.where(np.arange(X.shape[1]) == 0, np.nan, X)
    uses = {
        "transform": lambda: _check(model.transform(X), (len(X), n_out)),
        "inverse_transform": lambda: _check(model.inverse_transform(Z), (len(Z), None)),
        "score": lambda: _check(model.score(X), ()),
        "repr": lambda: repr(model),
        "get_params": model.get_params,
    }
    if hasattr(model, "log_density"):
        uses |= {
            "log_density": lambda: _check(model.log_density(Z), (len(Z),)),
            "sample": lambda: _check(model.sample(3, random_state=0), (3, None)),
            "reconstruction_error": lambda: _check(model.reconstruction_error(X), (len(X),)),
            "impute": lambda: _check(model.impute(incomplete), (len(X), None)),
        }
    fine = True
    for name, use in uses.items():
        try:
            use()
        except ALLOWED:
            fine = False
        except Exception as error:
            raise Bad(f"{name}: {error!r}"[:300]) from error
    return fine


def _check(result, shape):
    """Raise an error unless a result has a shape, with None for any size, and finite numbers."""
    if hasattr(result, "select_dtypes"):
        result = result.select_dtypes("number")
    values = np.asarray(result)
    sizes = zip(values.shape, shape, strict=False)
    if values.ndim != len(shape) or any(b is not None and a != b for a, b in sizes):
        raise Bad(f"its shape is {values.shape}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise Bad("it is not finite")
