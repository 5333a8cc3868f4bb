"""The AsyncAPI document is whole: nothing in it points nowhere, and nothing of the wire is missing from it."""

from collections.abc import Iterator
from typing import Any

import pytest

from citewire.contracts.asyncapi import asyncapi_document
from citewire.contracts.flows import FLOWS
from citewire.contracts.requests import REQUESTS

DOCUMENT = asyncapi_document()


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolve(reference: str) -> Any:
    node: Any = DOCUMENT
    for part in reference.removeprefix("#/").split("/"):
        node = node[part.replace("~1", "/").replace("~0", "~")]
    return node


def test_every_reference_leads_somewhere() -> None:
    found = set(references(DOCUMENT))

    assert found
    assert all(resolve(reference) for reference in found)


def test_it_is_version_3_with_what_the_specification_requires() -> None:
    assert DOCUMENT["asyncapi"] == "3.0.0"
    assert DOCUMENT["info"]["title"]
    assert DOCUMENT["info"]["version"]
    assert all(operation["action"] in {"send", "receive"} for operation in DOCUMENT["operations"].values())


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.event.__name__)
def test_an_event_has_its_channel_with_its_subject_and_payload(flow: Any) -> None:
    name = flow.event.__name__

    channel = DOCUMENT["channels"][name]

    assert channel["address"] == flow.address
    assert set(channel.get("parameters", ())) == set(flow.tokens)
    assert resolve(channel["messages"][name]["payload"]["$ref"])["title"] == name


@pytest.mark.parametrize("request_class", REQUESTS, ids=lambda request: request.__name__)
def test_a_request_has_its_channel_and_its_two_kinds_of_reply(request_class: Any) -> None:
    name = request_class.__name__

    operation = DOCUMENT["operations"][f"answer{name}"]

    assert resolve(operation["channel"]["$ref"])["address"] == request_class.subject
    replies = resolve(operation["reply"]["channel"]["$ref"])["messages"]
    assert set(replies) == {request_class.reply.__name__, "Refused"}


def test_it_says_how_an_answer_is_stopped() -> None:
    channel = DOCUMENT["channels"]["StopAnswer"]

    assert channel["address"] == "qa.v1.answer.stop.{asker}.{question_id}"
    assert set(channel["parameters"]) == {"asker", "question_id"}
    assert resolve(DOCUMENT["operations"]["publishStopAnswer"]["channel"]["$ref"]) == channel
