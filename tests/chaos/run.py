"""The long form: every fault once, kills at random, and a look for leaks; ends with code 1 after a violation.

    python tests/chaos/run.py [--seed 7] [--questions 500] [--leak-questions 2000] [--folder …]

The folder keeps the logs of all processes.
"""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    # Run by path, Python looks for modules beside this file only; the package that this folder is lies one above.
    sys.path[0] = str(Path(__file__).parents[1])
    sys.exit(import_module("chaos.long_form").main())
