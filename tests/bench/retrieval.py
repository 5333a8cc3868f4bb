"""Measures ingest and search of one large knowledge base: speed per core, latency, memory.

    python tests/bench/retrieval.py [--chunks 100000] [--questions 500] [--eval FOLDER]
        [--no-vectors | --random-vectors] [--one-core]

Ends with code 1 when a bar is missed.
"""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    # Run by path, Python looks for modules beside this file only; the package that this folder is lies one above.
    sys.path[0] = str(Path(__file__).parents[1])
    import_module("bench.retrieval_table").main()
