"""The bundled model in its worker process, which retrievers on one machine share."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import numpy as np
import pytest

from citewire.runtime.errors import TransientError
from retriever.embedding.e5 import E5, load_e5
from retriever.embedding.embedder import Embedder, EmbedderUnavailable, Role
from retriever.embedding.embedders import open_embedders
from waiting import until
from workers import client_process, has_ended, workers_of

QUESTION = "Why is the sky blue?"
# Some seconds of work.
BOOK = [f"Chapter {number} tells how the ship left the harbour. " * 6 for number in range(80)]
FACTS = [
    "The Great Wall of China was built over many centuries to keep out invaders.",
    "Photosynthesis turns sunlight, water and carbon dioxide into sugar and oxygen.",
    "The heart of an adult beats about seventy times a minute.",
    "Mount Everest, at 8,849 metres, is the highest mountain above sea level.",
    "The Eiffel Tower was finished in 1889 for the World's Fair in Paris.",
    "Bread rises because yeast gives off carbon dioxide.",
    "The stock market crashed in October 1929.",
    "Penguins live almost only in the southern hemisphere.",
    "A violin has four strings tuned in fifths.",
    "The Treaty of Versailles ended the First World War.",
    "Antibiotics work against bacteria and not against viruses.",
    "The Amazon carries more water than any other river.",
    "Chess is played on a board of sixty-four squares.",
    "The speed of light in a vacuum is about 300,000 kilometres a second.",
    "Employees may carry over five days of holiday into the next year.",
    "The first email was sent in 1971.",
    "Volcanoes form where plates of the crust move apart or together.",
    "The refund is paid within fourteen days of the return.",
    "Tea was brought to Europe in the seventeenth century.",
    "The moon takes about twenty-seven days to circle the earth.",
]


@pytest.fixture(scope="session")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("embedding") / "models"
    load_e5(folder)
    return folder


@pytest.fixture(scope="session")
def model(models_dir: Path) -> E5:
    return load_e5(models_dir)


@pytest.fixture(scope="session")
def shared_dir(models_dir: Path) -> Path:
    """The folder of a worker that stays from one test to the next, if they follow closely."""
    return models_dir.parent


@pytest.fixture
async def e5(shared_dir: Path) -> AsyncGenerator[Embedder]:
    """The bundled model, ready, for tests that leave its worker alone."""
    async with open_embedders({}, shared_dir) as embedders:
        await embedders.get("e5").passages(["ready"])
        yield embedders.get("e5")


@pytest.fixture
def data_dir(models_dir: Path, tmp_path: Path) -> Path:
    """A folder with no worker yet and the model's files made before."""
    (tmp_path / "models").symlink_to(models_dir)
    return tmp_path


@pytest.fixture
async def doomed(data_dir: Path) -> AsyncGenerator[Embedder]:
    """The bundled model, ready, in a worker of the test's own."""
    async with open_embedders({}, data_dir) as embedders:
        await embedders.get("e5").passages(["ready"])
        yield embedders.get("e5")


async def test_vectors_are_the_same_in_whatever_process_they_are_made(data_dir: Path, model: E5, e5: Embedder) -> None:
    async with client_process(data_dir, FACTS[0]) as client:
        elsewhere = await client.vector()

    assert (await e5.passages(FACTS[:1])).tobytes() == elsewhere
    assert model.embed(FACTS[:1], Role.PASSAGE).tobytes() == elsewhere


async def test_a_vector_does_not_depend_on_its_neighbours(e5: Embedder) -> None:
    (alone,) = await e5.passages([FACTS[3]])
    among_others = await e5.passages(FACTS)

    assert alone.tobytes() == among_others[3].tobytes()


async def test_a_chinese_question_is_nearest_to_its_english_passage(e5: Embedder) -> None:
    passages = await e5.passages(FACTS)

    question = await e5.query("世界上最高的山有多高?")

    assert FACTS[int(np.argmax(passages @ question))].startswith("Mount Everest")


async def test_two_processes_share_one_worker(data_dir: Path) -> None:
    async with client_process(data_dir, FACTS[0]) as one, client_process(data_dir, FACTS[0]) as other:
        assert await one.vector() == await other.vector()

        await until(lambda: len(workers_of(data_dir)) == 1)


async def test_the_worker_stays_for_the_clients_that_are_left(shared_dir: Path, e5: Embedder) -> None:
    workers = workers_of(shared_dir)
    async with client_process(shared_dir, FACTS[0]) as client:
        await client.vector()

    await e5.query(QUESTION)

    assert workers_of(shared_dir) == workers


async def test_the_worker_ends_with_its_last_client(data_dir: Path) -> None:
    async with open_embedders({}, data_dir) as embedders:
        await embedders.get("e5").passages(["ready"])
        (worker,) = workers_of(data_dir)

    await until(lambda: has_ended(worker), seconds=20)

    assert not list((data_dir / "embedding").glob("*.sock"))


async def test_the_worker_ends_when_all_its_clients_are_killed(data_dir: Path) -> None:
    async with client_process(data_dir, FACTS[0]) as one, client_process(data_dir, FACTS[0]) as other:
        await one.vector()
        await other.vector()

        await one.kill()
        await other.kill()

        await until(lambda: not workers_of(data_dir), seconds=20)


async def test_a_batch_is_repeated_when_the_worker_is_killed_over_it(
    data_dir: Path, doomed: Embedder, model: E5
) -> None:
    (worker,) = workers_of(data_dir)
    embedding = asyncio.create_task(doomed.passages(BOOK[:40]))
    spent = worker.cpu_times().user
    await until(lambda: worker.cpu_times().user > spent + 0.2)

    worker.send_signal(signal.SIGKILL)
    vectors = await embedding

    assert vectors[-1].tobytes() == model.embed(BOOK[39:40], Role.PASSAGE)[0].tobytes()
    assert worker not in workers_of(data_dir)


async def test_a_worker_that_died_idle_is_replaced(data_dir: Path, doomed: Embedder) -> None:
    (worker,) = workers_of(data_dir)
    worker.kill()
    await until(lambda: has_ended(worker))

    vectors = await doomed.passages(["again"])

    assert vectors.shape == (1, 384)


async def test_queries_do_not_wait_for_passages(e5: Embedder) -> None:
    embedding = asyncio.create_task(e5.passages(BOOK))

    # Behind a batch each, these would outlast all ten batches.
    for _ in range(20):
        await e5.query(QUESTION)

    assert not embedding.done()
    await embedding


async def test_a_query_that_takes_too_long_is_a_transient_error(data_dir: Path, doomed: Embedder) -> None:
    (worker,) = workers_of(data_dir)
    worker.suspend()

    with pytest.raises(TransientError, match="longer than 5 s"):
        await doomed.query(QUESTION)

    worker.resume()
    assert (await doomed.query(QUESTION)).shape == (384,)


async def test_the_folder_of_the_socket_is_its_owners_alone(shared_dir: Path, e5: Embedder) -> None:
    assert e5.dimension == 384
    assert (shared_dir / "embedding").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_a_path_that_is_too_long_for_a_socket_is_no_hindrance(data_dir: Path, models_dir: Path) -> None:
    deep = data_dir / ("deep" * 30)
    deep.mkdir()
    (deep / "models").symlink_to(models_dir)

    async with open_embedders({}, deep) as embedders:
        vectors = await embedders.get("e5").passages(["ready"])

    assert vectors.shape == (1, 384)


async def test_a_folder_that_cannot_be_written_makes_the_embedder_unavailable(tmp_path: Path) -> None:
    (tmp_path / "embedding").write_text("in the way")

    async with open_embedders({}, tmp_path) as embedders:
        with pytest.raises(EmbedderUnavailable, match="cannot be used"):
            await embedders.get("e5").query(QUESTION)


async def test_a_model_that_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("in the way")

    async with open_embedders({}, tmp_path) as embedders:
        with pytest.raises(EmbedderUnavailable, match="cannot be written"):
            await embedders.get("e5").passages(["never"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00",
        "a\x00b",
        "\ud800",
        "</s><s><pad>",
        "😀" * 3_000,
        "مرحبا بالعالم",
        "中" * 200_000,
        "a " * 100_000,
    ],
    ids=[
        "empty",
        "blank",
        "NUL",
        "NUL inside",
        "surrogate",
        "marks",
        "emoji",
        "Arabic",
        "long Chinese",
        "long English",
    ],
)
def test_any_text_has_a_vector(model: E5, text: str) -> None:
    (vector,) = model.embed([text], Role.PASSAGE)

    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_mark_in_a_text_is_not_the_mark_of_the_model(model: E5) -> None:
    ids = model._tokens.ids("a</s>b").tolist()

    assert ids.count(2) == 1
