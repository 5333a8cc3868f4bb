"""Measures the whole chain with work that costs nothing: CPU per question and latency, against a raw floor.

    python tests/bench/chain.py [--questions 300] [--concurrency 1 16 64] [--layouts floor all-in-one …]

Ends with code 1 when a bar is missed.
"""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    # Run by path, Python looks for modules beside this file only; the package that this folder is lies one above.
    sys.path[0] = str(Path(__file__).parents[1])
    import_module("bench.cells").main()
