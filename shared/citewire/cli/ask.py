"""`citewire ask`: the answer as it streams, then its numbered sources; or its frames as they come."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from httpx_sse import ServerSentEvent
from rich.console import Console
from rich.text import Text

from citewire.cli.client import Client
from citewire.cli.options import Key, Url, connect
from citewire.contracts.answers import DeltaFrame, DoneFrame, SourcesFrame
from citewire.contracts.evidence import Citation, Quote, QuoteOrigin, Source, Verdict
from citewire.contracts.problems import Problem
from citewire.contracts.provenance import Generator, Maker, Planner

console = Console(highlight=False, markup=False)
notes = Console(stderr=True, highlight=False, markup=False, style="dim")

UNPROVED = "! not proved"


def ask(  # noqa: PLR0913, PLR0917 - one argument per option
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    kb: Annotated[list[str] | None, typer.Option("--kb", help="A knowledge base; repeatable. Default: all.")] = None,
    session: Annotated[str | None, typer.Option(help="Continue this session.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the frames as they come, one JSON object a line: id, event, data.")
    ] = False,
    url: Url = None,
    key: Key = None,
) -> None:
    """Ask a question; the answer streams with numbered sources."""
    with connect(url, key) as client:
        events = client.ask(_body(client, question, kb, session))
        if as_json:
            _print_frames(events)
        else:
            _print_answer(events)


def _body(client: Client, question: str, kbs: list[str] | None, session: str | None) -> dict[str, Any]:
    if session is not None:
        return {"question": question, "session_id": session}
    return {"question": question, "kb_ids": kbs or [kb.kb_id for kb in client.knowledge_bases()]}


def _print_frames(events: Iterator[ServerSentEvent]) -> None:
    for event in events:
        frame = {"id": event.id, "event": event.event, "data": json.loads(event.data)}
        # In ASCII: whole in every locale, and no separator in a text breaks a line.
        typer.echo(json.dumps(frame))
        if event.event == "error":
            raise typer.Exit(1)


def _print_answer(events: Iterator[ServerSentEvent]) -> None:
    sources: dict[int, Source] = {}
    has_text = False
    for event in events:
        if event.event == "sources":
            if has_text:
                # What stands on a terminal can't be taken back.
                console.print()
                notes.print("the answer begins anew")
                has_text = False
            frame = SourcesFrame.model_validate_json(event.data)
            sources = {source.number: source for source in frame.sources}
            notes.print(_describe(frame))
        elif event.event == "delta":
            console.print(DeltaFrame.model_validate_json(event.data).text, end="", soft_wrap=True)
            has_text = True
        elif event.event == "done":
            console.print()
            _print_end(DoneFrame.model_validate_json(event.data), sources)
        elif event.event == "error":
            problem = Problem.model_validate_json(event.data)
            notes.print(f"{problem.title}: {problem.detail}")
            raise typer.Exit(1)


def _describe(frame: SourcesFrame) -> str:
    kbs = ", ".join(dict.fromkeys(source.kb_id for source in frame.sources)) or "no knowledge base"
    return f"{len(frame.sources)} passages from {kbs}"


def _print_end(done: DoneFrame, sources: dict[int, Source]) -> None:
    if done.citations:
        console.print()
    for citation in done.citations:
        console.print(_source_line(citation, sources[citation.number]), soft_wrap=True)
    if done.dangling_citations:
        notes.print(f"no such source: {', '.join(map(str, done.dangling_citations))}")
    if done.degraded:
        notes.print(f"degraded: {done.degraded}")
    if made := _made_by(done):
        notes.print(made, soft_wrap=True)
    notes.print(f"{done.status} · session {done.session_id}")


def _source_line(citation: Citation, source: Source) -> Text:
    page = citation.page_label or citation.page
    where = f"{source.title or source.file_name}" + (f", p. {page}" if page else "")
    standing = ", ".join(dict.fromkeys(map(_standing, citation.quotes))) or f"{UNPROVED}: nothing quoted"
    style = "yellow" if UNPROVED in standing else "dim"
    number = (f"[{citation.number}] ", "bold cyan")
    return Text.assemble(number, where, (f" · {source.kb_id} · ", "dim"), (standing, style))


def _standing(quote: Quote) -> str:
    """How far a quote is proved, with a sign that needs no colour."""
    if quote.verdict in {Verdict.EXACT, Verdict.NORMALISED}:
        return "~ supporting passage, not quoted" if quote.origin is QuoteOrigin.FOUND else "✓ proved"
    numbers = ", ".join(dict.fromkeys(str(piece.number) for piece in quote.pieces))
    if quote.verdict is Verdict.MISATTRIBUTED:
        return f"{UNPROVED}: stands in source {numbers}" if numbers else f"{UNPROVED}: stands in another source"
    if quote.verdict is Verdict.STITCHED:
        return f"{UNPROVED}: put together from parts of source {numbers}"
    return f"{UNPROVED}: not in the source"


def _made_by(done: DoneFrame) -> str:
    made = []
    if done.planner:
        made.append(f"planned {_named(done.planner)}")
        if not done.planner.search_needed:
            made.append("no search needed, by the planner's word")
    if done.generator:
        made.append(f"written {_named(done.generator)}")
    return " · ".join(made)


def _named(maker: Planner | Generator) -> str:
    if maker.made_by is Maker.MODEL:
        return f"by {maker.model} ({maker.provider})"
    return "by rules" if maker.made_by is Maker.RULES else "without a model: sentences of the sources"
