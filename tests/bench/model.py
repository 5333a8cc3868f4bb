"""Measures answers by a model, which is a scripted one: how fast its words get to the client, and what they cost.

    python tests/bench/model.py [--questions 40] [--rounds 5] [--only latency deltas chain]

Ends with code 1 when a bar is missed.
"""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    # Run by path, Python looks for modules beside this file only; the package that this folder is lies one above.
    sys.path[0] = str(Path(__file__).parents[1])
    import_module("bench.model_run").main()
