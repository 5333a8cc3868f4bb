"""Ending with the process that started this one, where the system can tell."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Ask Linux for a SIGTERM when the parent dies (a killed `make`); elsewhere Ctrl-C has to do."""
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        # It died before the request: nobody would tell us any more.
        sys.exit(1)
