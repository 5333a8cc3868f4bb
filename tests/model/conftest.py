"""A stack, and a real model on this machine that it asks."""

from collections.abc import AsyncGenerator, Iterator

import pytest

from model.llama import PATIENCE, LocalModel, local_model
from model_questions import Desk, fill, open_desk
from stack import Stack, running_stack


@pytest.fixture(scope="session")
def model() -> Iterator[LocalModel]:
    with local_model() as running:
        yield running


@pytest.fixture(scope="session")
def model_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("model") / "data"
    with running_stack(folder, "--no-samples", CITEWIRE_AUTOQUERY_MODEL_LIMIT=str(PATIENCE)) as running:
        fill(running)
        yield running


@pytest.fixture
async def desk(model_stack: Stack) -> AsyncGenerator[Desk]:
    async with open_desk(model_stack, patience=PATIENCE) as opened:
        yield opened
