"""Runs the roles named on the command line in one process: the real ones, but for a search that costs nothing."""

import sys

from bench.stand_ins import create_searcher
from citewire.runtime.process import load_service, run
from embedded.parent import end_with_parent

if __name__ == "__main__":
    end_with_parent()
    services = [create_searcher() if role == "retriever" else load_service(role) for role in sys.argv[1:]]
    run(services, ready=lambda: print("ready", flush=True))
