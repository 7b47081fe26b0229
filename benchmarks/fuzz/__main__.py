"""``python -m benchmarks.fuzz NAME [OPTIONS]``: run one of the fuzzers."""

import sys
from importlib import import_module
from pkgutil import iter_modules

from benchmarks import fuzz

NAMES = [module.name for module in iter_modules(fuzz.__path__) if not module.name.startswith("_")]

if __name__ == "__main__":
    name, *arguments = sys.argv[1:] or [""]
    if name not in NAMES:
        sys.exit(f"usage: python -m benchmarks.fuzz {{{','.join(NAMES)}}} [OPTIONS]")
    sys.exit(import_module(f"benchmarks.fuzz.{name}").main(arguments))
