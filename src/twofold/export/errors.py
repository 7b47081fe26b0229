"""The error of model files."""


class ModelFileError(ValueError):
    """Raised for a file that is not a readable model, or a model that cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import twofold
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "letter.twofold")
    ...     _ = path.write_text("Dear reader")
    ...     try:
    ...         twofold.load(path)
    ...     except twofold.ModelFileError as error:
    ...         print("letter.twofold" in str(error))
    True
    """
