"""The flow table of `docs/architecture.md`, made from `citewire.contracts.flows`."""

from pathlib import Path

from citewire.contracts.flows import FLOWS, Flow

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
HEAD = ("| event | subject | stream | published by | consumed by |", "|---|---|---|---|---|")


def flow_table() -> list[str]:
    """The table's lines."""
    return [*HEAD, *map(_row, FLOWS)]


def committed_flow_table() -> list[str]:
    """The table's lines as the page has them."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index(HEAD[0])
    return lines[start : _end(lines, start)]


def write_flow_table() -> None:
    """Put the table into the page, in place of the one that is there."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index(HEAD[0])
    lines[start : _end(lines, start)] = flow_table()
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _row(flow: Flow) -> str:
    publishers, consumers = ", ".join(flow.publishers), ", ".join(flow.consumers)
    return f"| `{flow.event.__name__}` | `{flow.address}` | `{flow.stream}` | {publishers} | {consumers} |"


def _end(lines: list[str], start: int) -> int:
    return next((n for n in range(start, len(lines)) if not lines[n].startswith("|")), len(lines))
