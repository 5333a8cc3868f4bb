"""Providers of language models: their settings as they are kept, as they are given and as they are shown."""

import re
from datetime import timedelta
from enum import StrEnum
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field, SecretStr, StringConstraints

from citewire.contracts.model import Message
from citewire.contracts.provenance import Usage

MAX_KEY_CHARACTERS = 1_000
# A hint of a shorter key would be too much of it.
MIN_HINTED_KEY = 16
# Tokens beside the answer: below, rules and question leave hardly any for evidence.
SMALL_ROOM = 3_000

# What two readers of addresses could understand in two ways is refused: blanks, backslashes, user names, other scripts.
_ADDRESS = re.compile(
    r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~%!$&'()*+,;=:@/-]*)?", re.ASCII
)
_DEFAULT_PORTS = {"http": 80, "https": 443}


def _check_address(address: str) -> str:
    if address and not (_ADDRESS.fullmatch(address) and _has_place(address)):
        raise ValueError("must be like https://host/v1, with no user name, query or fragment")
    return address


def _has_place(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _check_key(key: SecretStr) -> SecretStr:
    text = key.get_secret_value()
    if len(text) > MAX_KEY_CHARACTERS or not all("!" <= character <= "~" for character in text):
        raise ValueError(f"must be printable ASCII without blanks, at most {MAX_KEY_CHARACTERS} characters")
    return key


Address = Annotated[str, StringConstraints(max_length=2000), AfterValidator(_check_address)]
NewKey = Annotated[SecretStr, AfterValidator(_check_key)]
ProviderName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:/@+-]*$", max_length=200)]


class Protocol(StrEnum):
    """Which of OpenAI's interfaces a server speaks: `/responses` or `/chat/completions`."""

    RESPONSES = "responses"
    CHAT = "chat"


class Profile(StrEnum):
    """Whose server it is: which fields it takes."""

    COMPATIBLE = "compatible"
    OPENAI = "openai"
    DEEPSEEK = "deepseek"
    BAILIAN = "bailian"


class AnswerForm(StrEnum):
    """How a model is asked to answer: text and then a list of quotes, or one JSON object."""

    INLINE = "inline"
    STRUCTURED = "structured"


class Purpose(StrEnum):
    """What a provider may be used for, and what leaves the machine for it.

    ask: questions, history and evidence. rewrite: questions, history and the titles of knowledge bases.
    contextual: the beginnings of documents and of their sections.
    """

    ASK = "ask"
    REWRITE = "rewrite"
    CONTEXTUAL = "contextual"


class ProviderSettings(Message):
    """What an administrator sets, but for the key; nothing is sent anywhere unless all is there and `enabled`.

    `address` is the root of the interface, as `https://host/v1`. `auto_query_model` (empty: `model`) plans first, then
    `fallback_model` (empty: `model`, if it is another). `temperature` None leaves it to the session;
    `sends_temperature` false is for models that take none. Token counts are o200k_base tokens: `context_tokens` is
    what prompt and answer may have together.
    """

    # Durations are written as seconds; ISO 8601 is read, too.
    model_config = ConfigDict(ser_json_timedelta="float")

    address: Address = ""
    model: ModelName = ""
    auto_query_model: ModelName = ""
    fallback_model: ModelName = ""
    protocol: Protocol = Protocol.RESPONSES
    profile: Profile = Profile.COMPATIBLE
    form: AnswerForm = AnswerForm.INLINE
    temperature: float | None = Field(default=None, ge=0, le=2)
    sends_temperature: bool = True
    context_tokens: int = Field(default=32_000, ge=1_024, le=10_000_000)
    max_output_tokens: int = Field(default=2_048, ge=16, le=1_000_000)
    connect_timeout: timedelta = Field(default=timedelta(seconds=5), gt=timedelta(), le=timedelta(minutes=1))
    first_token_timeout: timedelta = Field(default=timedelta(seconds=30), gt=timedelta(), le=timedelta(minutes=10))
    idle_timeout: timedelta = Field(default=timedelta(seconds=20), gt=timedelta(), le=timedelta(minutes=10))
    total_timeout: timedelta = Field(default=timedelta(seconds=110), gt=timedelta(), le=timedelta(hours=1))
    max_retries: int = Field(default=1, ge=0, le=5)
    use_for_ask: bool = False
    use_for_rewrite: bool = False
    use_for_contextual: bool = False
    enabled: bool = False


class ProviderChanges(ProviderSettings):
    """Settings as an administrator sends them; `key` goes in and never comes out: left out it stays, empty it goes."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    key: NewKey | None = None


class Provider(ProviderSettings):
    """A provider as the watched bucket has it: its key encrypted (`sealed_key`, empty: none), and a hint of it.

    `revision` counts its changes.
    """

    name: ProviderName
    sealed_key: str = ""
    key_hint: str = ""
    revision: int = Field(default=0, ge=0)

    @property
    def origin(self) -> str:
        """Whom its key may be sent to, as scheme, host and port; empty without an address."""
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.hostname}:{parts.port or _DEFAULT_PORTS[parts.scheme]}" if self.address else ""

    def missing(self) -> tuple[str, ...]:
        """The names of the fields without which it can't be used."""
        values = {"address": self.address, "model": self.model, "key": self.sealed_key}
        return tuple(name for name, value in values.items() if not value)

    def serves(self, purpose: Purpose) -> bool:
        """Whether it is switched on for a purpose, complete or not."""
        switches = {
            Purpose.ASK: self.use_for_ask,
            Purpose.REWRITE: self.use_for_rewrite,
            Purpose.CONTEXTUAL: self.use_for_contextual,
        }
        return self.enabled and switches[purpose]

    def warnings(self) -> tuple[str, ...]:
        """What is allowed and may not be meant."""
        parts = urlsplit(self.address)
        is_open = parts.scheme == "http" and not _is_loopback(parts.hostname or "")
        room = self.context_tokens - min(self.max_output_tokens, self.context_tokens // 2)
        warnings = {"the key travels unencrypted": is_open, "the context is small": room < SMALL_ROOM}
        return tuple(warning for warning, holds in warnings.items() if holds)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def hint_of(key: str) -> str:
    """What is shown of a key: its last four characters, unless it is short."""
    return "…" + (key[-4:] if len(key) >= MIN_HINTED_KEY else "")


class ProviderView(ProviderSettings):
    """A provider as administrators see it.

    `key` is a hint of it, or None without one. `missing` names the fields without which it can't be used, and
    `master_key` where the service can't open its key. `is_usable`: enabled, and nothing is missing. `serves` has the
    purposes that it is really asked for, which of several usable providers is the first by name.
    """

    name: ProviderName
    key: str | None
    missing: tuple[str, ...]
    is_usable: bool
    serves: tuple[Purpose, ...]
    warnings: tuple[str, ...]


class ModelSettings(Message):
    """All providers by name, and which of them is asked for each purpose (None: no model is)."""

    providers: tuple[ProviderView, ...]
    purposes: dict[Purpose, str | None]


class ProviderCheck(Message):
    """What came of asking a provider's model for a word; `problem` is a sentence where it failed."""

    ok: bool
    elapsed_ms: int = Field(ge=0)
    problem: str | None = None
    usage: Usage | None = None
