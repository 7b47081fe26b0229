"""``python -m benchmarks.fuzz NAME [OPTIONS]``: run one of the fuzzers."""

import sys
from importlib import import_module

NAMES = ("files", "fits", "guided", "interrupts", "tables")


def main(arguments):
    name, *rest = arguments or [""]
    if name not in NAMES:
        sys.exit(f"usage: python -m benchmarks.fuzz {{{','.join(NAMES)}}} [OPTIONS]")
    return import_module(f"benchmarks.fuzz.{name}").main(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
