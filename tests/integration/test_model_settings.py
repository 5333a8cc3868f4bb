"""Providers of models over HTTP, on a real bucket: who may change them, what is shown, and where a key never is."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from cryptography.fernet import Fernet
from structlog.testing import capture_logs

from citewire.contracts.identity import ApiKey, BrowserSession, Role, User
from citewire.contracts.providers import Purpose
from citewire.contracts.streams import BROWSER_BUCKET, KEY_BUCKET, PROVIDER_BUCKET
from citewire.runtime.bus import Bus
from citewire.runtime.providers import Providers, open_providers
from citewire.runtime.registry import watch
from gateway.app import create_http
from gateway.identity import COOKIE, CSRF_HEADER, Identities
from gateway.parts import Parts
from gateway.settings import Settings
from scripted_model import ScriptedModel, pieces, reasoning, silent, status

KEY = "sk-very-secret-0123456789"
PATH = "/v1/settings/model"
MAIN = f"{PATH}/providers/main"
HOST = "http://citewire.test"
COMPLETE: dict[str, Any] = {
    "address": "https://models.example/v1",
    "model": "large",
    "key": KEY,
    "enabled": True,
    "use_for_ask": True,
}


@dataclass
class Gateway:
    """A gateway that has settings and nothing else; `text` is all that it has said, its log included."""

    providers: Providers
    identities: Identities
    http: httpx.AsyncClient
    logged: list[Any]
    said: list[str]

    async def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        response = await self.http.request(method, path, **options)
        self.said.append(f"{response.text} {dict(response.headers)}")
        return response

    async def put(self, path: str = MAIN, **fields: Any) -> dict[str, Any]:
        return self._body(await self.call("PUT", path, json=fields))

    async def patch(self, **fields: Any) -> dict[str, Any]:
        return self._body(await self.call("PATCH", MAIN, json=fields))

    async def settings(self) -> dict[str, Any]:
        return self._body(await self.call("GET", PATH))

    def everything_said(self) -> str:
        return f"{self.said} {self.logged}"

    def _body(self, response: httpx.Response) -> dict[str, Any]:
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.json()
        return body


@contextlib.asynccontextmanager
async def running_gateway(bus: Bus, logged: list[Any]) -> AsyncGenerator[Gateway]:
    async with (
        watch(bus, KEY_BUCKET, ApiKey) as keys,
        watch(bus, BROWSER_BUCKET, BrowserSession) as browsers,
        open_providers(bus) as providers,
    ):
        identities = Identities(keys, browsers, settings := Settings())
        parts = SimpleNamespace(settings=settings, identities=identities, providers=providers)
        new = await identities.create_key(User(user_id="ada", role=Role.ADMINISTRATOR), "test")
        transport = httpx.ASGITransport(create_http(cast("Parts", parts)))
        headers = {"Authorization": f"Bearer {new.secret}"}
        async with httpx.AsyncClient(transport=transport, base_url=HOST, headers=headers) as http:
            yield Gateway(providers, identities, http, logged, [])


@pytest.fixture
def logged() -> Generator[list[Any]]:
    """All that is logged from now on."""
    with capture_logs() as entries:
        yield entries


@pytest.fixture(autouse=True)
def master(monkeypatch: pytest.MonkeyPatch) -> str:
    """The master key that the gateway is started with."""
    key = Fernet.generate_key().decode()
    monkeypatch.setenv("CITEWIRE_MASTER_KEY", key)
    return key


@pytest.fixture
async def gateway(bus: Bus, logged: list[Any]) -> AsyncGenerator[Gateway]:
    async with running_gateway(bus, logged) as gateway:
        yield gateway


@pytest.fixture
async def server() -> AsyncGenerator[ScriptedModel]:
    async with ScriptedModel() as server:
        yield server


def shown(settings: dict[str, Any], name: str = "main") -> dict[str, Any]:
    (found,) = (provider for provider in settings["providers"] if provider["name"] == name)
    assert isinstance(found, dict)
    return found


async def stored(bus: Bus) -> bytes:
    """The newest entry of the bucket as it lies there."""
    return (await bus.js.get_last_msg(f"KV_{PROVIDER_BUCKET}", ">")).data or b""


# Settings


async def test_without_providers_nothing_is_asked_for_any_purpose(gateway: Gateway) -> None:
    assert await gateway.settings() == {
        "providers": [],
        "purposes": {"ask": None, "rewrite": None, "contextual": None},
    }


async def test_a_provider_counts_when_the_reply_comes(gateway: Gateway) -> None:
    saved = await gateway.put(**COMPLETE)

    settings = await gateway.settings()
    assert shown(settings) == saved
    assert settings["purposes"] == {"ask": "main", "rewrite": None, "contextual": None}
    assert (saved["key"], saved["missing"], saved["is_usable"], saved["serves"]) == ("…6789", [], True, ["ask"])
    assert (saved["total_timeout"], saved["warnings"]) == (110, [])


async def test_of_two_providers_the_first_by_name_serves(gateway: Gateway) -> None:
    await gateway.put(**COMPLETE)

    first = await gateway.put(f"{PATH}/providers/a", **COMPLETE)

    settings = await gateway.settings()
    assert (first["serves"], shown(settings)["serves"], shown(settings)["is_usable"]) == (["ask"], [], True)


async def test_h08_an_enabled_provider_without_a_key_serves_nothing_and_says_why(gateway: Gateway) -> None:
    saved = await gateway.put(**COMPLETE | {"key": None})

    assert (saved["missing"], saved["is_usable"], saved["serves"], saved["key"]) == (["key"], False, [], None)
    assert gateway.providers.for_purpose(Purpose.ASK) is None


async def test_a_change_leaves_what_is_not_sent(gateway: Gateway) -> None:
    before = await gateway.put(**COMPLETE)

    after = await gateway.patch(total_timeout="PT1M", temperature=0.5)

    assert after == before | {"total_timeout": 60, "temperature": 0.5}


async def test_another_host_drops_the_key(gateway: Gateway) -> None:
    await gateway.put(**COMPLETE)

    after = await gateway.patch(address="http://evil.example/v1")

    assert (after["key"], after["missing"]) == (None, ["key"])
    assert after["warnings"] == ["the key travels unencrypted"]


async def test_a_removed_provider_is_gone_when_the_reply_comes(gateway: Gateway) -> None:
    await gateway.put(**COMPLETE)

    removed = await gateway.call("DELETE", MAIN)

    assert removed.status_code == 204
    assert (await gateway.settings())["providers"] == []


@pytest.mark.parametrize(("method", "path"), [("PATCH", MAIN), ("DELETE", MAIN), ("POST", f"{MAIN}/check")])
async def test_a_provider_that_is_not_there_is_404(gateway: Gateway, method: str, path: str) -> None:
    body: dict[str, Any] = {"json": {}} if method == "PATCH" else {}

    assert (await gateway.call(method, path, **body)).status_code == 404


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"adress": "x"}, "adress"),
    ({"name": "x"}, "name"),
    ({"sealed_key": "x"}, "sealed_key"),
    ({"address": "https://user:word@models.example/v1"}, "address"),
    ({"model": "two words"}, "model"),
    ({"protocol": "smoke"}, "protocol"),
    ({"temperature": 2.1}, "temperature"),
    ({"max_retries": 6}, "max_retries"),
    ({"connect_timeout": 0}, "connect_timeout"),
    ({"key": "two words"}, "key"),
    ({"key": 7}, "key"),
]


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_wrong_setting_is_422_with_its_field(gateway: Gateway, method: str) -> None:
    await gateway.put(**COMPLETE)

    refused = [await gateway.call(method, MAIN, json=fields) for fields, _ in WRONG]

    assert {response.status_code for response in refused} == {422}
    named = [[error["field"] for error in response.json()["errors"]] for response in refused]
    assert named == [[field] for _, field in WRONG]


async def test_a_hostile_name_is_refused_and_stored_nowhere(gateway: Gateway) -> None:
    names = ["Main", "a.b", "a%20b", "%2e%2e", "a%2Fb", "a*", "%3E", "a%00", "a%0A", "a" * 65, "%E5%90%8D", "%FF"]

    refused = [await gateway.call("PUT", f"{PATH}/providers/{name}", json=COMPLETE) for name in names]

    assert {response.status_code for response in refused} <= {404, 405, 422}
    assert (await gateway.settings())["providers"] == []


async def test_two_administrators_at_once_lose_no_change(gateway: Gateway) -> None:
    await gateway.put(**COMPLETE)

    await asyncio.gather(*(gateway.patch(**{f"{name}_model": "x"}) for name in ("auto_query", "fallback")))

    after = shown(await gateway.settings())
    assert (after["auto_query_model"], after["fallback_model"], after["key"]) == ("x", "x", "…6789")


# Who may


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", PATH), ("PUT", MAIN), ("PATCH", MAIN), ("DELETE", MAIN), ("POST", f"{MAIN}/check")],
)
async def test_who_is_no_administrator_may_neither_read_nor_change(gateway: Gateway, method: str, path: str) -> None:
    user = await gateway.identities.create_key(User(user_id="bob", role=Role.USER), "test")
    await gateway.put(**COMPLETE)
    body: dict[str, Any] = {"json": {}} if method in {"PUT", "PATCH"} else {}

    asked = await gateway.call(method, path, headers={"Authorization": f"Bearer {user.secret}"}, **body)
    stranger = await gateway.call(method, path, headers={"Authorization": ""}, **body)

    assert (asked.status_code, stranger.status_code) == (403, 401)
    assert "models.example" not in asked.text + stranger.text
    assert shown(await gateway.settings())["is_usable"]


@pytest.mark.parametrize(("origin", "has_token"), [("http://evil.example", True), (HOST, False)])
async def test_a_browser_needs_its_page_and_its_token_to_change_something(
    gateway: Gateway, *, origin: str, has_token: bool
) -> None:
    admin = await gateway.identities.create_key(User(user_id="eve", role=Role.ADMINISTRATOR), "browser")
    cookie, caller = await gateway.identities.sign_in(admin.secret)
    headers = {"Authorization": "", "Cookie": f"{COOKIE}={cookie}"}
    good = headers | {"Origin": HOST, CSRF_HEADER: str(caller.csrf_token)}
    bad = headers | {"Origin": origin} | ({CSRF_HEADER: str(caller.csrf_token)} if has_token else {})

    refused = [
        await gateway.call("PUT", MAIN, json=COMPLETE, headers=bad),
        await gateway.call("PATCH", MAIN, json={}, headers=bad),
        await gateway.call("DELETE", MAIN, headers=bad),
        await gateway.call("POST", f"{MAIN}/check", headers=bad),
    ]
    accepted = await gateway.call("PUT", MAIN, json=COMPLETE, headers=good)

    assert [response.status_code for response in refused] == [403] * 4
    assert accepted.status_code == 200


# Where a key never is


async def test_a_key_is_in_no_reply_no_log_line_and_no_entry(gateway: Gateway, bus: Bus) -> None:
    await gateway.put(**COMPLETE)
    entries = [await stored(bus)]
    await gateway.patch(model="small")
    entries.append(await stored(bus))
    await gateway.call("PUT", MAIN, json={"key": f"{KEY} {KEY}", "temperature": KEY, "protocol": KEY})
    await gateway.call("PUT", MAIN, content=f'{{"key": "{KEY}"')
    await gateway.call("PUT", MAIN, json=[KEY])
    await gateway.call("PUT", f"{PATH}/providers/{KEY[:-1]}!", json=COMPLETE)
    await gateway.settings()
    await gateway.call("DELETE", MAIN)

    assert KEY.encode() not in b"".join(entries)
    assert KEY not in gateway.everything_said()
    assert gateway.said


async def test_a_change_is_logged_with_who_and_what_and_no_value(gateway: Gateway) -> None:
    await gateway.put(**COMPLETE)
    await gateway.patch(model="small", key=f"{KEY}-other")
    await gateway.call("DELETE", MAIN)

    lines = [entry for entry in gateway.logged if entry.get("provider") == "main"]
    assert [(line["event"], line["by"], sorted(line.get("fields", []))) for line in lines] == [
        ("model provider changed", "ada", sorted(COMPLETE)),
        ("model provider changed", "ada", ["key", "model"]),
        ("model provider removed", "ada", []),
    ]
    assert "small" not in str(lines)


async def test_a_key_without_a_master_key_is_refused(
    bus: Bus, logged: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    await bus.js.purge_stream(f"KV_{PROVIDER_BUCKET}")
    monkeypatch.setenv("CITEWIRE_MASTER_KEY", "")

    async with running_gateway(bus, logged) as gateway:
        refused = await gateway.call("PUT", MAIN, json=COMPLETE)
        saved = await gateway.put(**COMPLETE | {"key": None})

        assert refused.status_code == 409
        assert KEY not in gateway.everything_said()
        assert saved["missing"] == ["key", "master_key"]


@pytest.mark.parametrize(
    "master_key", ["", "not-a-master-key", Fernet.generate_key().decode()], ids=["none", "malformed", "another"]
)
async def test_with_the_master_key_lost_a_provider_is_not_usable_and_all_else_works(
    gateway: Gateway, bus: Bus, monkeypatch: pytest.MonkeyPatch, master_key: str
) -> None:
    await gateway.put(**COMPLETE)
    monkeypatch.setenv("CITEWIRE_MASTER_KEY", master_key)

    async with running_gateway(bus, gateway.logged) as restarted:
        settings = await restarted.settings()
        changed = await restarted.patch(model="small")

        assert (shown(settings)["missing"], settings["purposes"]["ask"]) == (["master_key"], None)
        assert (changed["model"], changed["is_usable"], changed["key"]) == ("small", False, "…6789")
        if master_key:
            assert master_key not in restarted.everything_said()


async def test_after_a_rotation_saved_providers_need_the_new_master_key_alone(
    gateway: Gateway, bus: Bus, master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = Fernet.generate_key().decode()
    await gateway.put(**COMPLETE)

    monkeypatch.setenv("CITEWIRE_MASTER_KEY", f"{newer},{master}")
    async with running_gateway(bus, gateway.logged) as rotating:
        during = await rotating.settings()
        await rotating.patch()
    monkeypatch.setenv("CITEWIRE_MASTER_KEY", newer)
    async with running_gateway(bus, gateway.logged) as rotated:
        after = await rotated.settings()

    assert during["purposes"]["ask"] == after["purposes"]["ask"] == "main"


# Checking


async def test_a_check_asks_for_one_word(gateway: Gateway, server: ScriptedModel) -> None:
    server.play(pieces("Yes", usage=(9, 2)))
    await gateway.put(**COMPLETE | {"address": server.url, "key": server.key})

    answer = (await gateway.call("POST", f"{MAIN}/check")).json()

    assert (answer["ok"], answer["problem"]) == (True, None)
    assert (answer["usage"]["input_tokens"], answer["usage"]["output_tokens"]) == (9, 2)
    (request,) = server.requests
    assert (request.body["model"], request.body["max_output_tokens"]) == ("large", 512)


async def test_a_model_that_thinks_for_longer_than_a_check_allows_is_there(
    gateway: Gateway, server: ScriptedModel
) -> None:
    server.play(reasoning("well", then=pieces("Yes", finish="length")))
    await gateway.put(**COMPLETE | {"address": server.url, "key": server.key})

    assert (await gateway.call("POST", f"{MAIN}/check")).json()["ok"] is True


async def test_a_check_that_fails_says_why_without_the_key(gateway: Gateway, server: ScriptedModel) -> None:
    # Like real servers, this one repeats the key that it refuses.
    server.play(status(401))
    await gateway.put(**COMPLETE | {"address": server.url, "key": KEY})

    answer = (await gateway.call("POST", f"{MAIN}/check")).json()

    assert (answer["ok"], "401" in answer["problem"], "main" in answer["problem"]) == (False, True, True)
    assert KEY not in gateway.everything_said()


async def test_a_check_of_a_silent_server_ends(
    gateway: Gateway, server: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.provider_check.TIME_LIMIT", 0.2)
    server.play(silent())
    await gateway.put(**COMPLETE | {"address": server.url, "key": server.key})

    answer = (await gateway.call("POST", f"{MAIN}/check")).json()

    assert (answer["ok"], answer["problem"]) == (False, "the model provider main did not answer within 0 s")


@pytest.mark.parametrize(
    ("fields", "word"), [({"enabled": False}, "not enabled"), ({"key": ""}, "key"), ({"model": ""}, "model")]
)
async def test_h08_a_check_of_what_is_not_usable_calls_nobody(
    gateway: Gateway, server: ScriptedModel, fields: dict[str, Any], word: str
) -> None:
    await gateway.put(**COMPLETE | {"address": server.url, "key": server.key} | fields)

    answer = (await gateway.call("POST", f"{MAIN}/check")).json()

    assert answer["ok"] is False
    assert word in answer["problem"]
    assert server.connections_ever == 0
