"""Measures how retrieval spreads: over five slow knowledge bases, and to a second replica.

    python tests/bench/spread.py [--rounds 30]

Ends with code 1 when a bar is missed.
"""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    # Run by path, Python looks for modules beside this file only; the package that this folder is lies one above.
    sys.path[0] = str(Path(__file__).parents[1])
    import_module("bench.spread_stages").main()
