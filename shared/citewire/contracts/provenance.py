"""Who planned a search and who wrote an answer: citewire's own rules, or a provider's model."""

from enum import StrEnum

from pydantic import Field

from citewire.contracts.model import Message


class Maker(StrEnum):
    """What made a plan or a text; the first two call no model."""

    RULES = "rules"
    EXTRACTIVE = "extractive"
    MODEL = "model"


class Usage(Message):
    """Tokens as the provider counts them, over `requests` calls; output includes reasoning.

    `cached_tokens`: those of the input that it read from its cache, as far as it tells; most charge less for them.
    """

    input_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    reasoning_tokens: int = Field(default=0, ge=0)
    requests: int = Field(default=0, ge=0)


class Planner(Message):
    """How the queries of a question came about.

    `provider` and `model` are those that made the plan, empty for rules. `rewritten_question` is the question as it
    stands alone, empty where it was left as it is. Without `search_needed` no knowledge base is searched, by the
    model's own word. `usage` counts failed tries too.
    """

    made_by: Maker = Maker.RULES
    provider: str = ""
    model: str = ""
    rewritten_question: str = ""
    search_needed: bool = True
    usage: Usage | None = None


class Generator(Message):
    """What wrote an answer's text. `usage` counts a try that failed too; None: no model was asked."""

    made_by: Maker = Maker.EXTRACTIVE
    provider: str = ""
    model: str = ""
    usage: Usage | None = None
