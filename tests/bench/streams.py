"""Measures what many open streams cost one gateway process: CPU per delta, latency, and a replay.

    python tests/bench/streams.py [--streams 1000] [--seconds 10] [--rate 20] [--batch 1]

Ends with code 1 when a bar is missed, or a stream is not complete and in order.
"""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    # Run by path, Python looks for modules beside this file only; the package that this folder is lies one above.
    sys.path[0] = str(Path(__file__).parents[1])
    import_module("bench.stream_run").main()
