"""An index can only ever miss, never bring back; and what a search does when it is late."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import nats.errors
import pytest

from citewire.contracts.events import RetrievalRequested, SegmentsFound
from citewire.contracts.evidence import SearchQuery
from citewire.contracts.knowledge import KnowledgeBase
from citewire.contracts.streams import KB_BUCKET
from citewire.runtime.bus import Bus
from citewire.runtime.database import open_database
from citewire.runtime.registry import watch
from retriever.contents import NewChunk, NewVersion
from retriever.dense import DenseLeg, DenseResult
from retriever.embedding.embedders import Embedders
from retriever.handlers.searches import Finder
from retriever.index.follower import IndexFollower
from retriever.register import Register
from retriever.rerank import RerankLeg
from retriever.reranking.rerankers import Rerankers
from retriever.search import Asked, Searcher
from retriever.store.documents import DocumentStore
from retriever.store.kbs import KbStore
from retriever.store.passages import PassageStore
from retriever.store.vectors import VectorStore
from retriever.store.versions import VersionStore
from retriever.worker import Worker
from retriever_stage import Stage, running_retriever, until

pytestmark = pytest.mark.usefixtures("retriever_settings")


@pytest.fixture
async def stage() -> AsyncGenerator[Stage]:
    async with running_retriever() as stage:
        await stage.create_kb()
        yield stage


@dataclass(frozen=True)
class Parts:
    """The retriever without its upkeep: an index follows only when it is told to."""

    documents: DocumentStore
    versions: VersionStore
    indexes: IndexFollower
    searcher: Searcher

    async def texts(self, query: str) -> list[str]:
        asked = Asked(queries=(SearchQuery(query=query, kb_id="kb"),), top_k=8)
        found = await self.searcher.search("kb", asked)
        return [segment.text for segment in found.segments]


@contextlib.asynccontextmanager
async def parts(bus: Bus, database: str, folder: Path, dense: DenseLeg | None = None) -> AsyncGenerator[Parts]:
    async with (
        open_database(database) as opened,
        watch(bus, KB_BUCKET, KnowledgeBase) as entries,
        Worker(reading_limit=30) as worker,
    ):
        kbs, versions = KbStore(opened), VersionStore(opened)
        indexes = IndexFollower(kbs, versions, worker, folder, header_boost=2.0)
        passages, dense = PassageStore(opened), dense or DenseLeg(VectorStore(opened), Embedders({}))
        reranking = RerankLeg(Rerankers({}), passages)
        searcher = Searcher(Register(entries, kbs), indexes, dense, reranking, passages, 80_000)
        yield Parts(DocumentStore(opened), versions, indexes, searcher)


def one_chunk(text: str) -> NewVersion:
    chunk = NewChunk(ordinal=0, start=0, end=len(text), section="", header="price", pages=())
    return NewVersion("price", "txt", text, (), (chunk,))


async def test_r5_a_lagging_index_does_not_bring_back_an_old_version(bus: Bus, database: str, tmp_path: Path) -> None:
    async with running_retriever() as stage:
        await stage.create_kb()
        document = await stage.add("price.txt", b"The ticket costs ten francs.")
    async with parts(bus, database, tmp_path / "0" / "lexical") as retriever:
        before = await retriever.texts("ticket")
        await retriever.documents.submit("kb", "price.txt", "upload-2", {})
        await retriever.versions.store(document.doc_id, 2, b"2", one_chunk("The ticket costs twelve euros."))

        lagging = await retriever.texts("ticket")
        await retriever.indexes.follow("kb")
        after = await retriever.texts("ticket")

    assert before == ["The ticket costs ten francs."]
    assert lagging == []
    assert after == ["The ticket costs twelve euros."]


async def test_r5_a_lagging_index_does_not_bring_back_a_removed_document(
    bus: Bus, database: str, tmp_path: Path
) -> None:
    async with running_retriever() as stage:
        await stage.create_kb()
        document = await stage.add("price.txt", b"The ticket costs ten francs.")
    async with parts(bus, database, tmp_path / "0" / "lexical") as retriever:
        before = await retriever.texts("ticket")
        await retriever.documents.remove("kb", document.doc_id)

        lagging = await retriever.texts("ticket")

    assert (len(before), lagging) == (1, [])


async def test_while_the_index_lags_the_best_chunk_that_is_left_is_judged_by_its_own_words(
    bus: Bus, database: str, tmp_path: Path
) -> None:
    async with running_retriever() as stage:
        await stage.create_kb()
        document = await stage.add("price.txt", b"ticket, ticket: ten francs.")
        await stage.add("fare.txt", b"The ticket of a child costs five francs, and a dog rides for nothing at all.")
    async with parts(bus, database, tmp_path / "0" / "lexical") as retriever:
        before = await retriever.texts("ticket")
        await retriever.documents.remove("kb", document.doc_id)

        lagging = await retriever.texts("ticket")

    assert before[0] == "ticket, ticket: ten francs."
    assert lagging == ["The ticket of a child costs five francs, and a dog rides for nothing at all."]


async def test_a_late_older_version_does_not_replace_a_newer_one(bus: Bus, database: str, tmp_path: Path) -> None:
    async with running_retriever() as stage:
        await stage.create_kb()
        document = await stage.add("price.txt", b"The ticket costs ten francs.")
    async with parts(bus, database, tmp_path / "0" / "lexical") as retriever:
        await retriever.versions.store(document.doc_id, 3, b"3", one_chunk("The ticket costs three francs."))

        await retriever.versions.store(document.doc_id, 2, b"2", one_chunk("The ticket costs two francs."))
        await retriever.indexes.follow("kb")

        assert await retriever.texts("ticket") == ["The ticket costs three francs."]


def index_folder(place: Path) -> Path:
    (folder,) = (entry for entry in (place / "0" / "lexical").iterdir() if entry.is_dir())
    return folder


async def test_an_index_is_kept_over_a_restart(tmp_path: Path) -> None:
    async with running_retriever() as stage:
        await stage.create_kb()
        await stage.add("a.txt", b"The ticket costs ten francs.")
    before = {entry.name: entry.stat().st_mtime_ns for entry in index_folder(tmp_path).glob("*.idx")}

    async with running_retriever() as stage:
        texts = await stage.texts("ticket")
    after = {entry.name: entry.stat().st_mtime_ns for entry in index_folder(tmp_path).glob("*.idx")}

    assert texts == ["The ticket costs ten francs."]
    assert after == before != {}


def lose_the_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def lose_the_revision(folder: Path) -> None:
    folder.with_suffix(".json").unlink()


def damage_the_index(folder: Path) -> None:
    (folder / "meta.json").write_text("{")


def make_it_an_old_format(folder: Path) -> None:
    folder.with_suffix(".json").write_text('{"format": 0, "revision": 1}')


def run_ahead_of_postgres(folder: Path) -> None:
    state = folder.with_suffix(".json")
    state.write_text(state.read_text().replace('"revision":1', '"revision":99'))
    shutil.rmtree(folder)
    folder.mkdir()


@pytest.mark.parametrize(
    "harm", [lose_the_folder, lose_the_revision, damage_the_index, make_it_an_old_format, run_ahead_of_postgres]
)
async def test_an_index_that_cannot_be_used_is_built_again(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    async with running_retriever() as stage:
        await stage.create_kb()
        await stage.add("a.txt", b"The ticket costs ten francs.")
    harm(index_folder(tmp_path))

    async with running_retriever() as stage:
        assert await stage.texts("ticket") == ["The ticket costs ten francs."]


async def test_replicas_in_one_place_have_a_folder_each_and_follow_each_other(stage: Stage, tmp_path: Path) -> None:
    async with running_retriever():
        await stage.add("a.txt", b"The ticket costs ten francs.")

        async def all_find() -> bool | None:
            # Any replica may answer any of them.
            found = [await stage.texts("ticket") for _ in range(20)]
            return True if all(found) else None

        assert await until(all_find)
        assert (tmp_path / "0" / "lexical").is_dir()
        assert (tmp_path / "1" / "lexical").is_dir()


def request(kb_id: str, seconds: float) -> RetrievalRequested:
    return RetrievalRequested(
        question_id=uuid4(),
        deadline=datetime.now(UTC) + timedelta(seconds=seconds),
        kb_id=kb_id,
        queries=(SearchQuery(query="ticket", kb_id=kb_id),),
        top_k=8,
    )


async def test_nothing_is_searched_after_the_deadline(stage: Stage, bus: Bus) -> None:
    late = request("kb", seconds=-1)
    answers = await bus.client.subscribe(f"{SegmentsFound.subject}.>")

    await bus.publish(late)
    await stage.retrieve("ticket")

    first = SegmentsFound.model_validate_json((await answers.next_msg(timeout=5)).data)
    assert first.question_id != late.question_id
    with pytest.raises(nats.errors.TimeoutError):
        await answers.next_msg(timeout=0.1)


async def test_b15_a_search_that_was_given_up_says_so(bus: Bus, database: str, tmp_path: Path) -> None:
    async with running_retriever() as stage:
        await stage.create_kb()
    answers = await bus.client.subscribe(f"{SegmentsFound.subject}.>")
    event = request("kb", seconds=5)

    async with parts(bus, database, tmp_path / "0" / "lexical") as retriever:
        await Finder(bus, retriever.searcher).give_up(event, "Postgres is away")

    found = SegmentsFound.model_validate_json((await answers.next_msg(timeout=5)).data)
    assert (found.question_id, found.error) == (event.question_id, "Postgres is away")
    assert found.legs[0].error == "Postgres is away"


class NeverAnswers(DenseLeg):
    """A dense leg whose embedder hangs."""

    def __init__(self) -> None:
        pass

    async def search(self, *_: object) -> DenseResult:
        await asyncio.Event().wait()
        raise AssertionError


async def test_b15_vectors_that_do_not_come_in_time_leave_what_the_words_found(
    bus: Bus, database: str, tmp_path: Path
) -> None:
    async with running_retriever() as stage:
        await stage.create_kb()
        await stage.add("price.txt", b"The ticket costs ten francs.")
    answers = await bus.client.subscribe(f"{SegmentsFound.subject}.>")

    async with parts(bus, database, tmp_path / "0" / "lexical", NeverAnswers()) as retriever:
        await Finder(bus, retriever.searcher).search_kb(request("kb", seconds=2))

    found = SegmentsFound.model_validate_json((await answers.next_msg(timeout=5)).data)
    assert [segment.text for segment in found.segments] == ["The ticket costs ten francs."]
    assert [(leg.leg, leg.error) for leg in found.legs] == [("lexical", None), ("dense", "no answer in time")]
