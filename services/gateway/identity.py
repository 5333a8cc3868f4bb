"""Who calls: a bearer key, or the cookie of a browser that signed in with one."""

import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.requests import Request

from citewire.contracts.identity import ApiKey, BrowserSession, Role, User
from citewire.runtime.errors import forbidden, unauthorised
from citewire.runtime.registry import Registry
from gateway.keys import fingerprint, new_secret
from gateway.settings import Settings

COOKIE = "citewire_session"
CSRF_HEADER = "X-CSRF-Token"

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Caller:
    """An identified caller; `csrf_token` only for browsers."""

    user: User
    csrf_token: str | None = None


@dataclass(frozen=True)
class NewKey:
    """A key that was just made: the only time that it can be read."""

    secret: str
    entry: ApiKey


class Identities:
    """Keys and browser sessions, from their watched buckets."""

    def __init__(self, keys: Registry[ApiKey], browsers: Registry[BrowserSession], settings: Settings) -> None:
        self.keys = keys
        self.browsers = browsers
        self._settings = settings

    async def identify(self, request: Request) -> Caller:
        """The caller of a request; raises Refusal: 401 without a valid identity, 403 for a forged change."""
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return Caller((await self.key_of(secret.strip())).user)
        if cookie := request.cookies.get(COOKIE):
            return await self._browser(request, cookie)
        raise unauthorised("Send a key as `Authorization: Bearer …`, or sign in.")

    async def key_of(self, secret: str) -> ApiKey:
        """The key entry of a secret; raises Refusal 401."""
        entry = await self._find_key(fingerprint(secret))
        if entry is None:
            raise unauthorised("The key is not valid.")
        return entry

    async def sign_in(self, secret: str) -> tuple[str, Caller]:
        """Open a browser session with a key: the cookie's value, and who that is."""
        entry = await self.key_of(secret)
        cookie = new_secret()
        session = BrowserSession(
            key_hash=fingerprint(secret), csrf_token=secrets.token_urlsafe(24), created_at=datetime.now(UTC)
        )
        await self.browsers.put(fingerprint(cookie), session)
        return cookie, Caller(entry.user, session.csrf_token)

    async def sign_out(self, cookie: str) -> None:
        """End a browser session."""
        await self.browsers.remove(fingerprint(cookie))

    async def ensure_administrator(self, secret: str) -> None:
        """Register a first administrator key, unless there is an administrator already."""
        if secret and all(entry.user.role is not Role.ADMINISTRATOR for entry in self.keys.entries.values()):
            await self.create_key(User(user_id="admin", role=Role.ADMINISTRATOR), "first key", secret)

    async def create_key(self, user: User, label: str, secret: str = "") -> NewKey:
        """Make a key for a user."""
        secret = secret or new_secret()
        hashed = fingerprint(secret)
        entry = ApiKey(key_id=hashed[:12], user=user, created_at=datetime.now(UTC), label=label)
        await self.keys.put(hashed, entry)
        return NewKey(secret, entry)

    async def revoke_key(self, key_id: str) -> bool:
        """Revoke a key, and with it the browsers that signed in with it; False when there is none."""
        hashed = next((name for name, entry in self.keys.entries.items() if entry.key_id == key_id), None)
        if hashed is None:
            return False
        await self.keys.remove(hashed)
        await self.keys.wait_for(hashed, present=False)
        return True

    async def _browser(self, request: Request, cookie: str) -> Caller:
        name = fingerprint(cookie)
        session = self.browsers.entries.get(name) or await self.browsers.read(name)
        entry = None if session is None else await self._find_key(session.key_hash)
        if session is None or entry is None:
            raise unauthorised("Sign in again.")
        if request.method not in _SAFE_METHODS:
            self.check_origin(request)
            if not hmac.compare_digest(request.headers.get(CSRF_HEADER, "").encode(), session.csrf_token.encode()):
                raise forbidden(f"The {CSRF_HEADER} header is missing or wrong.")
        return Caller(entry.user, session.csrf_token)

    def check_origin(self, request: Request) -> None:
        """A change by a browser must come from our own page; raises Refusal 403."""
        host, public_origin = request.headers.get("Host", ""), self._settings.public_origin
        own = {public_origin} if public_origin else {f"http://{host}", f"https://{host}"}
        if request.headers.get("Origin") not in own:
            raise forbidden("The request does not come from this page.")

    async def _find_key(self, hashed: str) -> ApiKey | None:
        # The mirror may be a moment behind another process that has just made the key.
        return self.keys.entries.get(hashed) or await self.keys.read(hashed)


def require_administrator(caller: Caller) -> None:
    """Raises Refusal 403 for anyone else."""
    if caller.user.role is not Role.ADMINISTRATOR:
        raise forbidden("Only an administrator may do this.")
