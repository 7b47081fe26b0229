"""The command line.

Results go to standard output; progress, notes and errors go to standard error. Exit codes: 0 done,
1 failed, 2 wrong usage, 130 interrupted. An error is one line with a remedy. A command that fails
leaves no partial file and changes no file.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    if isinstance(sys.stdout, TextIOWrapper):  # names may have letters that its encoding lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from twofold.cli.application import cli  # slow, so Ctrl-C may arrive during the import

        cli.main(prog_name="twofold")
    except ModuleNotFoundError as error:  # installed without the extra
        if error.name not in ("click", "rich"):
            raise
        sys.exit(f'twofold: {error}. The command line needs: pip install "twofold[cli]"')
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
