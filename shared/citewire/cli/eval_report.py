"""What an evaluation found, as numbers and as tables."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel
from rich.table import Table

from citewire.cli.eval_metrics import documents_of, ndcg, percentile, recall
from citewire.cli.eval_set import JudgedQuery
from citewire.contracts.evidence import ExplainedHit
from citewire.contracts.knowledge import Document, DocumentStatus
from citewire.contracts.requests import SearchReply


class Figures(BaseModel):
    """Means over all queries, each in [0, 1]."""

    ndcg_10: float
    recall_20: float
    recall_100: float


class Times(BaseModel):
    """Milliseconds that half and 95% of the queries do not exceed."""

    p50_ms: float
    p95_ms: float


class Report(BaseModel):
    """An evaluation: `failed` documents could not be read; `times` has each leg and the whole request, `search`.

    `dense_weight` is the vectors' share of the fused score in [0, 1].
    """

    documents: int
    failed: int
    chunks: int
    queries: int
    dense_weight: float
    figures: dict[str, Figures]
    times: dict[str, Times]


@dataclass(frozen=True)
class Asked:
    """A query with its reply and how long that took over HTTP, in milliseconds."""

    query: JudgedQuery
    reply: SearchReply
    elapsed_ms: float


def report_on(
    asked: Sequence[Asked], documents: Sequence[Document], names: Mapping[str, str], dense_weight: float
) -> Report:
    """What the answers to all queries are worth; `names` gives a document's id in the set by its file name."""
    return Report(
        documents=len(documents),
        failed=sum(document.status is DocumentStatus.FAILED for document in documents),
        chunks=sum(document.chunks for document in documents),
        queries=len(asked),
        dense_weight=dense_weight,
        figures=figures(asked, names),
        times=times(asked),
    )


def json_of(reports: Sequence[Report]) -> str:
    """One report as an object, several as a list of such."""
    shown = [report.model_dump(mode="json") for report in reports]
    return json.dumps(shown if len(shown) > 1 else shown[0], indent=2)


def figures(asked: Sequence[Asked], documents: Mapping[str, str]) -> dict[str, Figures]:
    """What each leg that found something and the fused ranking are worth.

    `documents` gives a document's id in the set by its file name.
    """
    rankings = [_rankings(each.reply.explained, documents) for each in asked]
    found = [name for name in ("lexical", "dense", "fused") if any(each[name] for each in rankings)]
    return {
        name: _means([(one.query.gains, each[name]) for one, each in zip(asked, rankings, strict=True)])
        for name in found
    }


def times(asked: Sequence[Asked]) -> dict[str, Times]:
    """How long each leg that ran and the whole request took."""
    taken: dict[str, list[float]] = {}
    for each in asked:
        for leg in each.reply.legs:
            if not (leg.skipped or leg.error):
                taken.setdefault(leg.leg, []).append(leg.elapsed_ms)
        taken.setdefault("search", []).append(each.elapsed_ms)
    return {name: Times(p50_ms=percentile(ms, 0.5), p95_ms=percentile(ms, 0.95)) for name, ms in taken.items()}


def figure_table(report: Report) -> Table:
    """A row for each ranking."""
    table = Table("", "nDCG@10", "R@20", "R@100")
    for name, row in report.figures.items():
        table.add_row(name, f"{row.ndcg_10:.3f}", f"{row.recall_20:.3f}", f"{row.recall_100:.3f}")
    return table


def time_table(report: Report) -> Table:
    """A row for each leg and for the whole request."""
    table = Table("", "p50 ms", "p95 ms")
    for name, row in report.times.items():
        table.add_row(name, f"{row.p50_ms:.1f}", f"{row.p95_ms:.1f}")
    return table


def _rankings(hits: Sequence[ExplainedHit], documents: Mapping[str, str]) -> dict[str, list[str]]:
    lexical = sorted((hit.lexical_rank, hit.file_name) for hit in hits if hit.lexical_rank is not None)
    dense = sorted((hit.dense_rank, hit.file_name) for hit in hits if hit.dense_rank is not None)
    rankings: dict[str, Iterable[str]] = {
        "lexical": (name for _, name in lexical),
        "dense": (name for _, name in dense),
        "fused": (hit.file_name for hit in hits),
    }
    return {name: documents_of(documents[file] for file in files) for name, files in rankings.items()}


def _means(rankings: Sequence[tuple[Mapping[str, int], Sequence[str]]]) -> Figures:
    count = len(rankings)
    return Figures(
        ndcg_10=sum(ndcg(ranking, gains, 10) for gains, ranking in rankings) / count,
        recall_20=sum(recall(ranking, gains, 20) for gains, ranking in rankings) / count,
        recall_100=sum(recall(ranking, gains, 100) for gains, ranking in rankings) / count,
    )
