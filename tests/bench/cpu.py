"""CPU time of groups of processes, from the system's own accounts."""

from collections.abc import Mapping, Sequence

import psutil

Groups = Mapping[str, Sequence[psutil.Process]]


def cpu_seconds(groups: Groups) -> dict[str, float]:
    """User and system time so far of each group, with all children that they have or had."""
    return {name: sum(map(_with_children, processes)) for name, processes in groups.items()}


def _with_children(process: psutil.Process) -> float:
    # Children first: one that ends in between is then in its parent's account, at the worst a tick late.
    children = process.children(recursive=True)
    return sum(map(_used, children)) + _used(process)


def _used(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)
