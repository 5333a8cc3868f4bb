"""Who am I, signing in and out, and keys."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field, StringConstraints

from citewire.contracts.identity import ApiKey, Role, User
from citewire.contracts.model import Input, Message
from citewire.runtime.errors import not_found
from citewire.runtime.provision import BROWSER_SESSION_LIFE
from gateway.identity import COOKIE, Caller
from gateway.parts import TheAdministrator, TheCaller, TheParts

router = APIRouter(prefix="/v1", tags=["access"])

Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class Me(Message):
    """The caller; a browser sends `csrf_token` back in the X-CSRF-Token header of each change."""

    user: str
    role: Role
    groups: tuple[str, ...]
    csrf_token: str | None


class SignIn(Input):
    """A key to sign in with."""

    key: str = Field(min_length=1, max_length=200)


class KeyRequest(Input):
    """Whom a new key is for."""

    user: Name
    groups: tuple[Name, ...] = Field(default=(), max_length=50)
    role: Role = Role.USER
    label: str = Field(default="", max_length=200)


class CreatedKey(Message):
    """A new key: `key` is shown here and never again."""

    key: str
    entry: ApiKey


class Keys(Message):
    """All keys, newest first; the keys themselves are nowhere."""

    keys: tuple[ApiKey, ...]


@router.get("/me")
async def me(caller: TheCaller) -> Me:
    """Who the caller is."""
    return _describe(caller)


@router.post("/sign-in")
async def sign_in(body: SignIn, request: Request, response: Response, parts: TheParts) -> Me:
    """Exchange a key for a browser session's cookie."""
    parts.identities.check_origin(request)
    cookie, caller = await parts.identities.sign_in(body.key)
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=int(BROWSER_SESSION_LIFE),
        httponly=True,
        samesite="strict",
        secure=parts.settings.cookie_secure,
    )
    return _describe(caller)


@router.post("/sign-out", status_code=204)
async def sign_out(request: Request, response: Response, _: TheCaller, parts: TheParts) -> None:
    """End the browser session."""
    if cookie := request.cookies.get(COOKIE):
        await parts.identities.sign_out(cookie)
    response.delete_cookie(COOKIE)


@router.get("/keys")
async def list_keys(_: TheAdministrator, parts: TheParts) -> Keys:
    """All keys."""
    entries = parts.identities.keys.entries.values()
    return Keys(keys=tuple(sorted(entries, key=lambda entry: entry.created_at, reverse=True)))


@router.post("/keys", status_code=201)
async def create_key(body: KeyRequest, _: TheAdministrator, parts: TheParts) -> CreatedKey:
    """Make a key for a user."""
    user = User(user_id=body.user, groups=body.groups, role=body.role)
    new = await parts.identities.create_key(user, body.label)
    return CreatedKey(key=new.secret, entry=new.entry)


@router.delete("/keys/{key_id}", status_code=204)
async def revoke_key(key_id: str, _: TheAdministrator, parts: TheParts) -> None:
    """Revoke a key, and with it the browsers that signed in with it."""
    if not await parts.identities.revoke_key(key_id):
        raise not_found("key")


def _describe(caller: Caller) -> Me:
    user = caller.user
    return Me(user=user.user_id, role=user.role, groups=user.groups, csrf_token=caller.csrf_token)
