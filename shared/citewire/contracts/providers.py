"""Providers of language models: their settings as they are kept, as they are given and as they are shown."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from citewire.contracts.model import Message

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

    address: str = Field(default="", max_length=2000)
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


class Provider(ProviderSettings):
    """A provider as the watched bucket has it: its key encrypted (`sealed_key`, empty: none), and a hint of it."""

    name: ProviderName
    sealed_key: str = ""
    key_hint: str = ""

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
