"""The stack that the page is tested on, and the browser; without one the tests are skipped."""

from collections.abc import Iterator

import pytest

from browser.ensure_browser import find_browser
from stack import Stack, running_stack


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = pytest.mark.skip(reason="no Chromium on this machine")
    for item in items:
        if "/browser/" in str(item.path):
            item.add_marker(pytest.mark.live)
            if find_browser() is None:
                item.add_marker(missing)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("stack") / "data") as running:
        running.use_words_alone()
        yield running
