"""`citewire model`: what it sends, and what it shows."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner, Result

from citewire.cli import model
from citewire.cli.model import app
from citewire.cli.model_settings import Given
from loopback import QuietHandler, serving

KEY = "sk-very-secret-0123456789"
VIEW: dict[str, Any] = {
    "name": "main",
    "address": "http://models.example/v1",
    "model": "large",
    "enabled": True,
    "use_for_ask": True,
    "key": "…6789",
    "missing": [],
    "is_usable": True,
    "serves": ["ask"],
    "warnings": ["the key travels unencrypted"],
}
NOT_FOUND = {"type": "not-found", "title": "Not found", "status": 404, "detail": "There is no such model provider."}


class Service:
    """A gateway that answers with what `replies` has for a method and path, and keeps what was sent."""

    def __init__(self) -> None:
        self.url = ""
        self.replies: dict[str, tuple[int, Any]] = {}
        self.sent: list[tuple[str, Any]] = []

    def run(self, *arguments: str, typed: str | None = None, **environment: str) -> Result:
        variables = {"COLUMNS": "200", "CITEWIRE_MODEL_KEY": "", **environment}
        return CliRunner().invoke(app, [*arguments, "--url", self.url], input=typed, env=variables)


@pytest.fixture
def service() -> Generator[Service]:
    service = Service()
    provider = "/v1/settings/model/providers/main"
    service.replies = {
        "GET /v1/settings/model": (200, {"providers": [VIEW], "purposes": {"ask": "main", "rewrite": None}}),
        f"PATCH {provider}": (200, VIEW),
        f"PUT {provider}": (200, VIEW),
        f"DELETE {provider}": (204, None),
        f"POST {provider}/check": (200, {"ok": True, "elapsed_ms": 12}),
    }

    class Handler(QuietHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = f"{self.command} {self.path}"
            service.sent.append((request, json.loads(body) if body else None))
            code, reply = service.replies.get(request, (404, NOT_FOUND))
            content = b"" if reply is None else json.dumps(reply).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - as http.server calls them

    with serving(Handler) as service.url:
        yield service


def body(**given: Any) -> dict[str, Any]:
    return Given(**given).body()


def test_what_is_not_given_is_not_sent() -> None:
    assert body(model="large", use_for_ask=False) == {"model": "large", "use_for_ask": False}


def test_an_empty_value_is_sent() -> None:
    assert body(fallback_model="", max_retries=0) == {"fallback_model": "", "max_retries": 0}


@pytest.mark.parametrize(("text", "temperature"), [("0.2", 0.2), ("0", 0.0), ("none", None)])
def test_a_temperature_is_a_number_or_left_to_the_session(text: str, temperature: float | None) -> None:
    assert body(temperature=text) == {"temperature": temperature}


@pytest.mark.parametrize("given", [{"temperature": "warm"}, {"temperature": "nan"}, {"idle_timeout": float("inf")}])
def test_what_is_no_number_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(typer.BadParameter):
        body(**given)


def test_setting_changes_what_is_given_of_a_provider_that_is_there(service: Service) -> None:
    result = service.run("set", "main", "--model", "large", "--enable", "--no-use-for-rewrite", "--total-timeout", "90")

    assert service.sent == [
        (
            "PATCH /v1/settings/model/providers/main",
            {"model": "large", "enabled": True, "use_for_rewrite": False, "total_timeout": 90.0},
        )
    ]
    assert (result.exit_code, result.stdout) == (0, "saved main: usable\n")
    assert "the key travels unencrypted" in result.stderr


def test_setting_creates_a_provider_that_is_not_there(service: Service) -> None:
    service.replies["PATCH /v1/settings/model/providers/main"] = (404, NOT_FOUND)

    result = service.run("set", "main", "--model", "large")

    assert [request.partition(" ")[0] for request, _ in service.sent] == ["PATCH", "PUT"]
    assert service.sent[1][1] == {"model": "large"}
    assert result.exit_code == 0


def test_a_key_comes_from_a_file_standard_input_or_the_environment(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n", encoding="utf-8")

    results = [
        service.run("set", "main", "--key-file", str(file), CITEWIRE_MODEL_KEY="another"),
        service.run("set", "main", "--key-stdin", typed=f"{KEY}\n"),
        service.run("set", "main", CITEWIRE_MODEL_KEY=KEY),
    ]

    assert [sent for _, sent in service.sent] == [{"key": KEY}] * 3
    assert not any(KEY in result.output for result in results)


def test_a_key_is_removed_on_demand_only(service: Service) -> None:
    service.run("set", "main", "--remove-key")
    empty = service.run("set", "main", "--key-stdin", typed="\n")

    assert [sent for _, sent in service.sent] == [{"key": ""}]
    assert empty.exit_code == 2


def test_two_places_for_a_key_are_refused(service: Service) -> None:
    assert service.run("set", "main", "--key-stdin", "--remove-key", typed=KEY).exit_code == 2
    assert service.sent == []


def test_a_provider_that_can_not_be_used_says_what_it_lacks(service: Service) -> None:
    lacking = VIEW | {"missing": ["key", "master_key"], "is_usable": False}
    service.replies["PATCH /v1/settings/model/providers/main"] = (200, lacking)

    assert service.run("set", "main").stdout == "saved main: missing: key, master_key\n"


def test_the_list_has_each_provider_and_what_it_serves(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "console", Console(width=200, markup=False))

    shown = service.run("list").stdout

    assert all(word in shown for word in ("main", "http://models.example/v1", "large", "…6789", "usable", "ask"))


def test_a_provider_is_shown_with_all_settings(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "console", Console(width=200, markup=False))

    shown = service.run("show", "main").stdout

    assert all(word in shown for word in ("first_token_timeout", "30.0", "fallback_model", "…6789"))


def test_a_provider_that_is_not_there_is_an_error(service: Service) -> None:
    shown, removed = service.run("show", "other"), service.run("remove", "other")

    assert (shown.exit_code, removed.exit_code) == (1, 1)
    assert "other" in shown.stderr


def test_a_provider_is_removed(service: Service) -> None:
    assert service.run("remove", "main").stdout == "removed main\n"
    assert service.sent == [("DELETE /v1/settings/model/providers/main", None)]


def test_a_check_says_how_long_it_took(service: Service) -> None:
    assert service.run("check", "main").stdout == "main answered in 12 ms\n"


def test_a_check_that_fails_is_an_error_with_its_reason(service: Service) -> None:
    failed = {"ok": False, "elapsed_ms": 5, "problem": "the model provider main answered 401 (the key is not valid)"}
    service.replies["POST /v1/settings/model/providers/main/check"] = (200, failed)

    result = service.run("check", "main")

    assert (result.exit_code, result.stderr) == (1, f"citewire: {failed['problem']}\n")
