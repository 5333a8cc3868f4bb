"""One run of every fault, judged by several tests."""

import asyncio
import sys
from pathlib import Path

import pytest

from chaos.campaign import every_fault_once
from chaos.cluster import running_cluster
from chaos.report import Report

# Seconds before each piece of an answer: some two seconds for a whole one.
PAUSE = 0.02


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/chaos/" in str(item.path):
            item.add_marker(pytest.mark.live)


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """What a run of every fault has seen."""
    folder: Path = tmp_path_factory.mktemp("chaos")
    with running_cluster(folder, PAUSE) as cluster:
        seen = asyncio.run(every_fault_once(cluster))
    # Shown where a test fails.
    sys.stdout.write("\n".join([*seen.lines(), ""]))
    return seen
