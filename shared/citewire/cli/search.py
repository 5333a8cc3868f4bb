"""`citewire search`: what retrieval alone finds in one knowledge base, and why."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from citewire.cli.options import Key, Url, connect
from citewire.contracts.evidence import ExplainedHit, Leg, PageSpan, Segment
from citewire.contracts.requests import SearchReply
from citewire.contracts.retrieval import RetrievalMode

console = Console(highlight=False, markup=False)
notes = Console(stderr=True, highlight=False, markup=False, style="dim")


def search(  # noqa: PLR0913, PLR0917 - one argument per option
    query: Annotated[str, typer.Argument(help="What to look for.")],
    kb: Annotated[str, typer.Option("--kb", help="The knowledge base to search.")],
    top_k: Annotated[int, typer.Option(min=1, max=50, help="How many passages at most.")] = 8,
    conditions: Annotated[
        str | None,
        typer.Option(
            "--filter",
            metavar="JSON",
            help="""Which documents: {"field": "year", "operator": "greater_than", "value": 2020}, or several in a list
            under "and" or "or".""",
        ),
    ] = None,
    mode: Annotated[RetrievalMode | None, typer.Option(help="Default: the knowledge base's own.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each chunk came to its place.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as it came.")] = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Search one knowledge base, without an answer."""
    body: dict[str, Any] = {"query": query, "top_k": top_k, "explain": explain}
    if conditions is not None:
        body["filter"] = _parsed(conditions)
    if mode is not None:
        body["mode"] = mode
    with connect(url, key) as client:
        reply = client.read(SearchReply, "POST", f"/v1/kbs/{kb}/search", json=body)
    if as_json:
        typer.echo(reply.model_dump_json(indent=2))
    else:
        _print(reply, with_chunks=explain)


def _parsed(conditions: str) -> Any:
    try:
        return json.loads(conditions)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"not JSON: {error}", param_hint="--filter") from None


def _print(reply: SearchReply, *, with_chunks: bool) -> None:
    for place, segment in enumerate(reply.segments, start=1):
        console.print(_heading(place, segment), soft_wrap=True)
        console.print(Text(segment.text), soft_wrap=True)
        console.print()
    if with_chunks:
        console.print(_chunk_table(reply.explained))
    for leg in reply.legs:
        notes.print(_leg_line(leg), soft_wrap=True)


def _heading(place: int, segment: Segment) -> Text:
    where = (segment.title or segment.file_name, segment.section, _pages(segment.pages))
    return Text.assemble(
        (f"{place}. ", "bold cyan"), " · ".join(filter(None, where)), (f" · score {segment.score:.3f}", "dim")
    )


def _pages(pages: tuple[PageSpan, ...]) -> str:
    labels = [page.label or str(page.number) for page in pages]
    return "" if not labels else f"p. {labels[0]}" if len(labels) == 1 else f"pp. {labels[0]}–{labels[-1]}"


def _leg_line(leg: Leg) -> str:
    if leg.error or leg.skipped:
        return f"{leg.leg}: {leg.error or leg.skipped}"
    ready = "" if leg.ready is None or leg.ready == leg.total else f", {leg.ready} of {leg.total} chunks ready"
    return f"{leg.leg}: {leg.hits} hits in {leg.elapsed_ms:.1f} ms{ready}"


def _chunk_table(hits: tuple[ExplainedHit, ...]) -> Table:
    table = Table(
        "", "chunk", "words", "vectors", "fused", "reranked", "similarity", title="chunks", title_justify="left"
    )
    for place, hit in enumerate(hits, start=1):
        table.add_row(
            str(place),
            Text(f"{hit.title or hit.file_name} #{hit.ordinal}"),
            _ranked(hit.lexical_rank, hit.lexical_score),
            _ranked(hit.dense_rank, hit.dense_score),
            _score(hit.fused),
            _score(hit.reranked),
            _score(hit.similarity),
        )
    return table


def _ranked(rank: int | None, score: float | None) -> str:
    return "–" if rank is None else f"{rank}. ({_score(score)})"


def _score(score: float | None) -> str:
    return "–" if score is None else f"{score:.3f}"
