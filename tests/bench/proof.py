"""Measures how well quotes are proved: the share of right verdicts, and CPU per citation against 30 sources.

    python tests/bench/proof.py --eval FOLDER [--quotes 1000] [--seed 1] [--show]

FOLDER has evaluation sets as folders with a `corpus.jsonl` (`{"text": …}` a line). Ends with code 1 when a bar is
missed.
"""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    # Run by path, Python looks for modules beside this file only; the package that this folder is lies one above.
    sys.path[0] = str(Path(__file__).parents[1])
    import_module("bench.proof_run").main()
