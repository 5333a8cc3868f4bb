"""Measures whether costs stay flat: per delta, over earlier turns of a session, and over stored interactions.

    python tests/bench/flat.py [--rounds 7] [--questions 24] [--stored 20000]

Ends with code 1 when a ratio is above its bar.
"""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    # Run by path, Python looks for modules beside this file only; the package that this folder is lies one above.
    sys.path[0] = str(Path(__file__).parents[1])
    import_module("bench.flat_run").main()
