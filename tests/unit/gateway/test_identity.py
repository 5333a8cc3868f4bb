"""Who calls: keys, browser sessions, and what a browser must bring to change something."""

from typing import TypeVar

import pytest
from pydantic import BaseModel
from starlette.requests import Request

from citewire.contracts.identity import ApiKey, BrowserSession, Role, User
from citewire.runtime.errors import Refusal
from citewire.runtime.registry import Registry
from gateway.identity import COOKIE, CSRF_HEADER, Caller, Identities, require_administrator
from gateway.keys import fingerprint, new_secret
from gateway.settings import Settings

M = TypeVar("M", bound=BaseModel)


class MemoryRegistry(Registry[M]):
    """A registry without a server: a change shows at once."""

    def __init__(self) -> None:
        self._entries: dict[str, M] = {}

    async def put(self, key: str, entry: M) -> None:
        self._entries[key] = entry

    async def read(self, key: str) -> M | None:
        return self._entries.get(key)

    async def remove(self, key: str) -> None:
        self._entries.pop(key, None)

    async def wait_for(self, key: str, *, present: bool, timeout: float = 2.0) -> None:  # noqa: ASYNC109
        assert (key in self._entries) is present


class LaggingRegistry(MemoryRegistry[M]):
    """A registry whose mirror has not seen anything yet."""

    @property
    def entries(self) -> dict[str, M]:
        return {}


def identities(public_origin: str = "") -> Identities:
    keys: MemoryRegistry[ApiKey] = MemoryRegistry()
    browsers: MemoryRegistry[BrowserSession] = MemoryRegistry()
    return Identities(keys, browsers, Settings(public_origin=public_origin))


def request(method: str = "GET", **headers: str) -> Request:
    """A request to this page's own host; a header's name is written with underscores."""
    all_headers = {"host": "citewire.example:8700"} | {name.replace("_", "-"): value for name, value in headers.items()}
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in all_headers.items() if value]
    return Request({"type": "http", "method": method, "path": "/", "headers": raw, "query_string": b""})


async def signed_in(found: Identities) -> tuple[str, Caller]:
    key = await found.create_key(User(user_id="u"), "test")
    return await found.sign_in(key.secret)


async def status_of_change(found: Identities, cookie: str, **headers: str) -> int:
    """200 when a change by this browser is let through, else the refusal's status."""
    try:
        await found.identify(request("POST", cookie=f"{COOKIE}={cookie}", **headers))
    except Refusal as refusal:
        return refusal.problem.status
    return 200


async def refused_status(found: Identities, asked: Request) -> int:
    with pytest.raises(Refusal) as refused:
        await found.identify(asked)
    return refused.value.problem.status


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_a_key_names_its_user(scheme: str) -> None:
    found = identities()
    key = await found.create_key(User(user_id="u"), "test")

    caller = await found.identify(request(authorization=f"{scheme} {key.secret}"))

    assert caller == Caller(User(user_id="u"))


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer ", "Bearer cw_wrong", "Basic dTpw", "Bearer é\xff"])
async def test_without_a_valid_key_nobody_is_let_in(authorization: str) -> None:
    assert await refused_status(identities(), request(authorization=authorization)) == 401


async def test_a_key_just_made_elsewhere_is_known() -> None:
    keys: LaggingRegistry[ApiKey] = LaggingRegistry()
    found = Identities(keys, MemoryRegistry(), Settings())
    key = await found.create_key(User(user_id="u"), "test")

    assert (await found.identify(request(authorization=f"Bearer {key.secret}"))).user.user_id == "u"


async def test_no_entry_holds_a_secret() -> None:
    found = identities()
    key = await found.create_key(User(user_id="u"), "test")
    cookie, _ = await found.sign_in(key.secret)

    kept = repr((dict(found.keys.entries), dict(found.browsers.entries)))

    assert key.secret not in kept
    assert cookie not in kept


def test_secrets_differ() -> None:
    secrets = {new_secret() for _ in range(100)}

    assert len(secrets) == len({fingerprint(secret) for secret in secrets}) == 100


async def test_a_revoked_key_is_refused_and_so_are_its_browsers() -> None:
    found = identities()
    key = await found.create_key(User(user_id="u"), "test")
    cookie, _ = await found.sign_in(key.secret)

    assert await found.revoke_key(key.entry.key_id)

    assert await refused_status(found, request(authorization=f"Bearer {key.secret}")) == 401
    assert await refused_status(found, request(cookie=f"{COOKIE}={cookie}")) == 401


async def test_revoking_an_unknown_key_says_so() -> None:
    assert not await identities().revoke_key("nothing")


async def test_a_wrong_key_signs_nobody_in() -> None:
    with pytest.raises(Refusal) as refused:
        await identities().sign_in("cw_wrong")

    assert refused.value.problem.status == 401


async def test_a_browser_may_read_with_its_cookie_alone() -> None:
    found = identities()
    cookie, caller = await signed_in(found)

    assert await found.identify(request(cookie=f"{COOKIE}={cookie}")) == caller


async def test_a_browser_that_signed_out_is_refused() -> None:
    found = identities()
    cookie, _ = await signed_in(found)

    await found.sign_out(cookie)

    assert await refused_status(found, request(cookie=f"{COOKIE}={cookie}")) == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_change_needs_the_token(method: str) -> None:
    found = identities()
    cookie, _ = await signed_in(found)
    change = request(method, cookie=f"{COOKIE}={cookie}", origin="http://citewire.example:8700")

    assert await refused_status(found, change) == 403


@pytest.mark.parametrize("token", ["", "wrong", "é"])
async def test_a_wrong_token_is_refused(token: str) -> None:
    found = identities()
    cookie, _ = await signed_in(found)

    status = await status_of_change(found, cookie, origin="http://citewire.example:8700", **{CSRF_HEADER: token})

    assert status == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://citewire.example:8700", 200),
        ("https://citewire.example:8700", 200),
        ("http://citewire.example", 403),
        ("http://citewire.example:8701", 403),
        ("http://citewire.example:8700.evil.example", 403),
        ("http://evil.example", 403),
        ("http://evil.example/citewire.example:8700", 403),
        ("citewire.example:8700", 403),
        ("null", 403),
        ("", 403),
        ("http://[", 403),
        ("http://[::1", 403),
    ],
)
async def test_a_change_must_come_from_the_own_page(origin: str, status: int) -> None:
    found = identities()
    cookie, caller = await signed_in(found)

    got = await status_of_change(found, cookie, origin=origin, **{CSRF_HEADER: str(caller.csrf_token)})

    assert got == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://ask.example", 200),
        ("http://ask.example", 403),
        ("http://citewire.example:8700", 403),
        ("https://ask.example.evil.example", 403),
    ],
)
async def test_behind_a_proxy_only_the_public_origin_counts(origin: str, status: int) -> None:
    found = identities(public_origin="https://ask.example")
    cookie, caller = await signed_in(found)

    got = await status_of_change(found, cookie, origin=origin, **{CSRF_HEADER: str(caller.csrf_token)})

    assert got == status


async def test_a_token_of_another_browser_is_refused() -> None:
    found = identities()
    cookie, _ = await signed_in(found)
    _, other = await signed_in(found)

    got = await status_of_change(
        found, cookie, origin="http://citewire.example:8700", **{CSRF_HEADER: str(other.csrf_token)}
    )

    assert got == 403


async def test_the_first_administrator_is_made_once() -> None:
    found = identities()

    await found.ensure_administrator("cw_first")
    await found.ensure_administrator("cw_second")

    assert (await found.key_of("cw_first")).user.role is Role.ADMINISTRATOR
    assert len(found.keys.entries) == 1


async def test_without_a_first_key_no_administrator_is_made() -> None:
    found = identities()

    await found.ensure_administrator("")

    assert dict(found.keys.entries) == {}


def test_only_an_administrator_may_administrate() -> None:
    require_administrator(Caller(User(user_id="a", role=Role.ADMINISTRATOR)))

    with pytest.raises(Refusal) as refused:
        require_administrator(Caller(User(user_id="u")))

    assert refused.value.problem.status == 403
