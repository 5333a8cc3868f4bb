"""The architecture page says who tells whom what, as the contracts do and as the streams are provisioned."""

from citewire.contracts.events import EVENTS
from citewire.contracts.flows import FLOWS
from citewire.contracts.requests import REQUESTS
from citewire.runtime.provision import CONSUMERS, STREAMS
from contract.flow_table import PAGE, committed_flow_table, flow_table


def matches(pattern: str, subject: str) -> bool:
    """Whether a NATS subject pattern covers a subject, whose tokens in braces vary; `>` stands for the rest."""
    wanted, tokens = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted, tokens = wanted[:-1], tokens[: len(wanted) - 1]
    return len(wanted) == len(tokens) and all(w in {"*", t} or t[0] == "{" for w, t in zip(wanted, tokens, strict=True))


def streams_of(subject: str) -> list[str | None]:
    return [stream.name for stream in STREAMS if any(matches(p, subject) for p in stream.subjects or ())]


def test_the_page_has_the_flow_table_of_the_contracts() -> None:
    assert committed_flow_table() == flow_table(), "run `make snapshots`"


def test_every_event_has_one_flow() -> None:
    assert [flow.event for flow in FLOWS] == list(EVENTS)


def test_every_event_is_kept_by_its_stream_and_no_other() -> None:
    kept = {flow.event.__name__: streams_of(flow.address) for flow in FLOWS}

    assert kept == {flow.event.__name__: [flow.stream] for flow in FLOWS}


def test_no_request_is_kept_by_a_stream() -> None:
    kept = {request.subject: streams_of(request.subject) for request in REQUESTS}

    assert not any(kept.values()), "JetStream's acknowledgement would answer before the owner does"


def test_every_consumer_reads_an_event_of_its_stream() -> None:
    strays = {
        spec.durable
        for spec in CONSUMERS
        if not any(flow.stream == spec.stream and matches(spec.subject, flow.address) for flow in FLOWS)
    }

    assert not strays


def test_the_page_has_every_consumer_as_it_is_provisioned() -> None:
    page = PAGE.read_text(encoding="utf-8")

    for spec in CONSUMERS:
        window = f"{spec.ack_wait.total_seconds():.0f} s" + (", extended" if spec.is_long else "")
        event = next(flow.event.__name__ for flow in FLOWS if matches(spec.subject, flow.address))
        row = f"| `{spec.durable}` | `{event}` | {spec.workers} | {window} | {spec.max_deliver} |"
        assert row in page
