"""One stack with its samples for the whole run, all roles in one process."""

from collections.abc import AsyncGenerator, Iterator

import httpx
import pytest

from model_questions import Desk, fill, open_desk
from stack import Stack, running_stack


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/e2e/" in str(item.path):
            item.add_marker(pytest.mark.live)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("stack") / "data") as running:
        yield running


@pytest.fixture
def admin(stack: Stack) -> Iterator[httpx.Client]:
    with stack.client() as client:
        yield client


@pytest.fixture
def user(stack: Stack, admin: httpx.Client, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """A client of an ordinary user of the test's own."""
    key = admin.post("/v1/keys", json={"user": f"user of {request.node.name}"[:100]}).json()["key"]
    with stack.client(key) as client:
        yield client


@pytest.fixture(scope="session")
def model_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Another one, whose model is for tests to set; it has one small knowledge base."""
    with running_stack(tmp_path_factory.mktemp("model") / "data", "--no-samples") as running:
        fill(running)
        yield running


@pytest.fixture
async def desk(model_stack: Stack) -> AsyncGenerator[Desk]:
    async with open_desk(model_stack) as opened:
        yield opened
