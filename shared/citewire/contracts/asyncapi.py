"""The AsyncAPI 3.0 document of the wire, generated from the contract classes and the flow table."""

from importlib.metadata import version
from typing import Any

from pydantic.json_schema import models_json_schema

from citewire.contracts.flows import FLOWS, Flow
from citewire.contracts.requests import REQUESTS, Refused
from citewire.contracts.streams import STOP_SUBJECT

# The one message that is neither an event nor a request.
STOP = "StopAnswer"


def asyncapi_document() -> dict[str, Any]:
    """Channels, operations, messages and schemas of all events and requests."""
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "citewire", "version": version("citewire")},
        "defaultContentType": "application/json",
        "channels": _channels(),
        "operations": _operations(),
        "components": {"schemas": _schemas()},
    }


def _channels() -> dict[str, Any]:
    channels = {flow.event.__name__: _event_channel(flow) for flow in FLOWS} | {STOP: _stop_channel()}
    for request in REQUESTS:
        channels[request.__name__] = _channel(request.subject, request, {})
        channels[f"{request.__name__}Reply"] = {
            "address": None,
            "messages": {name.__name__: _message(name) for name in (request.reply, Refused)},
        }
    return channels


def _event_channel(flow: Flow) -> dict[str, Any]:
    parameters = {token: {"description": token.replace("_", " ")} for token in flow.tokens}
    channel = _channel(flow.address, flow.event, parameters)
    channel["x-stream"] = flow.stream
    channel["x-publishers"] = list(flow.publishers)
    channel["x-consumers"] = list(flow.consumers)
    return channel


def _stop_channel() -> dict[str, Any]:
    summary = "Stop the answer to a question of this asker. Core NATS, without payload."
    return {
        "address": f"{STOP_SUBJECT}.{{asker}}.{{question_id}}",
        "parameters": {"asker": {"description": "asker"}, "question_id": {"description": "question id"}},
        "messages": {STOP: {"name": STOP, "summary": summary}},
    }


def _channel(address: str, model: type[Any], parameters: dict[str, Any]) -> dict[str, Any]:
    channel: dict[str, Any] = {"address": address, "messages": {model.__name__: _message(model)}}
    if parameters:
        channel["parameters"] = parameters
    return channel


def _message(model: type[Any]) -> dict[str, Any]:
    summary = (model.__doc__ or "").strip().splitlines()[0]
    return {
        "name": model.__name__,
        "summary": summary,
        "payload": {"$ref": f"#/components/schemas/{model.__name__}"},
    }


def _operations() -> dict[str, Any]:
    operations: dict[str, Any] = {
        f"publish{flow.event.__name__}": _operation("send", flow.event.__name__) for flow in FLOWS
    }
    operations |= {f"consume{flow.event.__name__}": _operation("receive", flow.event.__name__) for flow in FLOWS}
    operations |= {f"publish{STOP}": _operation("send", STOP), f"consume{STOP}": _operation("receive", STOP)}
    for request in REQUESTS:
        operation = _operation("receive", request.__name__)
        operation["reply"] = {
            "address": {"location": "$message.header#/reply"},
            "channel": {"$ref": f"#/channels/{request.__name__}Reply"},
        }
        operations[f"answer{request.__name__}"] = operation
    return operations


def _operation(action: str, channel: str) -> dict[str, Any]:
    return {"action": action, "channel": {"$ref": f"#/channels/{channel}"}}


def _schemas() -> dict[str, Any]:
    models: list[type[Any]] = [flow.event for flow in FLOWS]
    for request in REQUESTS:
        models += [request, request.reply]
    models.append(Refused)
    distinct = list(dict.fromkeys(models))
    _, definitions = models_json_schema(
        [(model, "serialization") for model in distinct], ref_template="#/components/schemas/{model}"
    )
    schemas: dict[str, Any] = definitions["$defs"]
    return schemas
